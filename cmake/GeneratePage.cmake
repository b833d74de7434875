# cmake -D ROOT=src/report -D OUTPUT=page_files.c -P GeneratePage.cmake
#
# Writes ROOT/page.css and ROOT/page.js to OUTPUT as texts (report/report.h), with the hash of the
# script: the Content-Security-Policy of the page allows only the script with this hash.

set(texts "")
foreach(name IN ITEMS css js)
    file(READ ${ROOT}/page.${name} hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n    " hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," characters "${hex}")
    string(APPEND texts "const char page_${name}[] = {\n    ${characters}'\\0'};\n\n")
endforeach()

# Base64 of the 32 bytes of a hash: ten groups of 3 bytes give 4 letters each, and the last 2 bytes give 3
# letters and "=".
set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
file(SHA256 ${ROOT}/page.js hash)
set(base64 "")
foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hash}00" ${at} 6 bytes)
    foreach(shift IN ITEMS 18 12 6 0)
        math(EXPR letter "(0x${bytes} >> ${shift}) & 63")
        string(SUBSTRING ${alphabet} ${letter} 1 letter)
        string(APPEND base64 ${letter})
    endforeach()
endforeach()
string(SUBSTRING ${base64} 0 43 base64)

file(WRITE ${OUTPUT}.new
     "/* Generated from page.css and page.js by cmake/GeneratePage.cmake. */\n"
     "#include \"report/report.h\"\n\n${texts}const char page_js_hash[] = \"sha256-${base64}=\";\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
