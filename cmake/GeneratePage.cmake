# cmake -D ROOT=src/report -D OUTPUT=page_files.c -P GeneratePage.cmake
#
# Writes ROOT/page.css, page.js and live.js to OUTPUT as texts (report/report.h), each with its hash: the
# Content-Security-Policy of a page allows only the scripts, and the live page only the style, with these
# hashes.

# Base64 of the 32 bytes of a hash: ten groups of 3 bytes give 4 letters each, and the last 2 bytes give 3
# letters and "=".
set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
function(hash_of file result)
    file(SHA256 ${file} hash)
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
    set(${result} "sha256-${base64}=" PARENT_SCOPE)
endfunction()

set(texts "")
foreach(file IN ITEMS page.css page.js live.js)
    string(REPLACE "." "_" name ${file})
    file(READ ${ROOT}/${file} hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n    " hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," characters "${hex}")
    hash_of(${ROOT}/${file} hash)
    string(APPEND texts "const char ${name}[] = {\n    ${characters}'\\0'};\n"
                        "const char ${name}_hash[] = \"${hash}\";\n\n")
endforeach()

file(WRITE ${OUTPUT}.new
     "/* Generated from page.css, page.js and live.js by cmake/GeneratePage.cmake. */\n"
     "#include \"report/report.h\"\n\n${texts}")
file(RENAME ${OUTPUT}.new ${OUTPUT})
