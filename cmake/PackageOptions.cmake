# cpack reads this file for each package. A tarball has one top folder with bin, lib and share in it.
if(CPACK_GENERATOR STREQUAL TGZ)
    set(CPACK_COMPONENTS_ALL program launched)
    set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
    set(CPACK_PACKAGING_INSTALL_PREFIX "/")
endif()
