/* SHA-256: the vectors of FIPS 180-4 and of NIST's SHAVS, and each length around a block. */
#include <string.h>

#include "unit/unit.h"

#include "base/sha256.h"

TEST(test_known_answers)
{
    static const struct {
        const char *text, *hash;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
         "lmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    EACH_CASE (i, cases, "'%s'", cases[i].text) {
        char text[SHA256_TEXT_BYTES];
        assert_string_equal(sha256_text(cases[i].text, strlen(cases[i].text), text), cases[i].hash);
    }
}

/* The hash of all hashes of 0 … 130 times 'a', as sha256sum computes it. */
TEST(test_each_length_around_a_block)
{
    char message[130], all[131 * (SHA256_TEXT_BYTES - 1) + 1], text[SHA256_TEXT_BYTES];
    memset(message, 'a', sizeof message);
    for (size_t length = 0; length <= sizeof message; length++) {
        sha256_text(message, length, all + length * (SHA256_TEXT_BYTES - 1));
    }
    assert_string_equal(sha256_text(all, strlen(all), text),
                        "5eee4c50e1b5ec4f1a47f34c25ca988850b49da7904f5ab1b3abc5cc0ae66ef9");
}
