# cmake -D ROOT=schemas -D FILES=*/*.sql -D HEADER=plan/plan.h -D TYPE=schema_text -D TABLE=schema_texts
#       -D OUTPUT=schemas.c -P GenerateTexts.cmake
#
# Writes the files of ROOT to OUTPUT as a table of texts, declared in HEADER. An entry has the parts of a
# file's path, without the ending, and the file's text. The last entry has NULL. Texts are written as lists
# of characters, so that neither quoting nor the limit of string literals matters.

get_filename_component(ROOT ${ROOT} ABSOLUTE)
get_filename_component(folder ${ROOT} NAME)
file(GLOB files RELATIVE ${ROOT} ${ROOT}/${FILES})
list(SORT files)
if(NOT files)
    message(FATAL_ERROR "${ROOT} does not contain ${FILES}")
endif()
set(texts "")
set(entries "")
set(number 0)
foreach(file IN LISTS files)
    string(REGEX REPLACE "[.][a-z]+$" "" name ${file})
    string(REPLACE "/" "\", \"" name ${name})
    file(READ ${ROOT}/${file} hex HEX)
    if(hex STREQUAL "")
        message(FATAL_ERROR "${folder}/${file} is empty")
    endif()
    string(REGEX REPLACE "(................................)" "\\1\n    " hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," characters "${hex}")
    string(APPEND texts "\n/* ${file} */\nstatic const char text_${number}[] = {\n"
                        "    ${characters}'\\0'};\n")
    string(APPEND entries "    {\"${name}\", text_${number}},\n")
    math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT}.new
     "/* Generated from ${folder}/ by cmake/GenerateTexts.cmake. */\n"
     "#include \"${HEADER}\"\n\n#include <stddef.h>\n${texts}\n"
     "const struct ${TYPE} ${TABLE}[] = {\n${entries}    {0},\n};\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
