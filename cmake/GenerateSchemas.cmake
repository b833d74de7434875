# cmake -D ROOT=schemas -D OUTPUT=schemas.c -P GenerateSchemas.cmake
#
# Writes every ROOT/SCHEMA/DATABASE.sql into OUTPUT as an entry of schema_texts (plan/plan.h).
# Texts are character lists, so that neither quoting nor the length of a literal matters.

get_filename_component(ROOT ${ROOT} ABSOLUTE)
file(GLOB files RELATIVE ${ROOT} ${ROOT}/*/*.sql)
list(SORT files)
if(NOT files)
    message(FATAL_ERROR "no schemas in ${ROOT}")
endif()
set(texts "")
set(entries "")
set(number 0)
foreach(file IN LISTS files)
    get_filename_component(schema ${file} DIRECTORY)
    get_filename_component(database ${file} NAME_WE)
    file(READ ${ROOT}/${file} hex HEX)
    if(hex STREQUAL "")
        message(FATAL_ERROR "schemas/${file} is empty")
    endif()
    string(REGEX REPLACE "(................................)" "\\1\n    " hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," characters "${hex}")
    string(APPEND texts "\n/* ${file} */\nstatic const char text_${number}[] = {\n"
                        "    ${characters}'\\0'};\n")
    string(APPEND entries "    {\"${schema}\", \"${database}\", text_${number}},\n")
    math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT}.new
     "/* Generated from schemas/ by cmake/GenerateSchemas.cmake. */\n"
     "#include \"plan/plan.h\"\n\n#include <stddef.h>\n${texts}\n"
     "const struct schema_text schema_texts[] = {\n${entries}    {NULL, NULL, NULL},\n};\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
