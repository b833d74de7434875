#include "cli/client_library.h"

#include "load/inquiry.h"

enum exit_code client_library_begin(struct client_library *library, struct plan *plan,
                                    struct error *error)
{
    const struct adapter *adapter = plan->adapter;
    library->adapter = adapter;
    if (adapter->load != NULL) {
        if (adapter->load(plan->target.client_lib, &library->library, error) != STATUS_OK) {
            return inquiry_exit_code(error);
        }
        plan->target.library = library->library;
    }
    if (adapter->init != NULL && adapter->init(error) != STATUS_OK) {
        return EXIT_CODE_INTERNAL;
    }
    library->is_begun = true;
    return EXIT_CODE_OK;
}

void client_library_end(struct client_library *library)
{
    if (library->is_begun && library->adapter->fini != NULL) {
        library->adapter->fini();
    }
    if (library->library != NULL) {
        library->adapter->unload(library->library);
    }
    *library = (struct client_library){0};
}
