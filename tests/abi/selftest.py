# SPDX-License-Identifier: Apache-2.0
"""Shows that the checks of this folder can fail."""
import unittest

import abi_headers
import check_codes
import check_headers
import check_layout

STRUCT = """
typedef struct thing { /* a comment; with a semicolon */
  uint32_t struct_size, flags;
  char name[16], other[4];
  const char* const* urls; // another
  void (*tell)(void* user, const char* text,
               void (*then)(void*));
} thing;
"""


class Headers(unittest.TestCase):
    def test_every_field_is_found(self):
        names = [name for name, _ in abi_headers.structs(STRUCT)["thing"]]
        self.assertEqual(names, ["struct_size", "flags", "name", "other", "urls", "tell"])

    def test_callbacks_are_found(self):
        found = abi_headers.callbacks("typedef void (*on_done)(void*,\n  int);")
        self.assertEqual(found, {"on_done": "void (*on_done)(void*, int)"})

    def test_enumerators_and_ids_are_found(self):
        self.assertEqual(abi_headers.enumerators("enum { A = 1, /* B = 2 */ C = 1u << 3 };"),
                         ["A", "C"])
        self.assertEqual(abi_headers.string_macros('#define QUORATE_X "quorate.x/1"\n'),
                         ["QUORATE_X"])

    def test_all_headers_and_structs_are_read(self):
        paths = abi_headers.header_paths()
        self.assertGreaterEqual(len(paths), 6)
        for path in paths:
            text = abi_headers.without_comments(path.read_text())
            self.assertEqual(len(abi_headers.structs(text)), text.count("{\n") -
                             text.count('extern "C" {\n') - text.count("enum {\n"), path.name)

    def test_a_header_that_does_not_compile_is_named(self):
        self.assertIn("no_such.h", check_headers.complaint("gcc", "c", "c11", "no_such.h"))

    def test_a_compiler_that_is_absent_is_named(self):
        self.assertIn("scripts/setup", check_headers.complaint("gcc-of-nowhere", "c", "c11", "abi.h"))


class Layout(unittest.TestCase):
    def test_a_moved_field_is_a_difference(self):
        golden = check_layout.GOLDEN.read_text()
        moved = golden.replace("  8 +4 native_code", "  12 +4 native_code")
        self.assertNotEqual(golden, moved)
        self.assertIn("native_code", check_layout.difference(golden, moved))
        self.assertEqual(check_layout.difference(golden, golden), "")

    def test_a_field_that_was_not_read_is_a_hole(self):
        golden = check_layout.GOLDEN.read_text()
        self.assertEqual(check_layout.unread(golden), [])
        without = "\n".join(line for line in golden.splitlines() if " close:" not in line)
        self.assertEqual(check_layout.unread(without),
                         ["quorate_backend_factory: nothing is known of what lies before write"])
        without = "\n".join(line for line in golden.splitlines() if " value:" not in line)
        self.assertIn("quorate_op: nothing is known of its last 16 bytes",
                      check_layout.unread(without))


class Codes(unittest.TestCase):
    SCHEMA = "enum ErrorCode {\n  ok @0;\n  notFound @1; # text @7;\n  ioError @2;}"
    HEADER = ("typedef int32_t quorate_status;\nenum { QUORATE_OK = 0, QUORATE_NOT_FOUND = 1,\n"
              "QUORATE_IO_ERROR = 2, /* QUORATE_X = 3, */ };")

    def test_equal_lists_agree(self):
        self.assertEqual(check_codes.disagreements(check_codes.schema_codes(self.SCHEMA),
                                                   check_codes.header_codes(self.HEADER)), [])

    def test_another_number_and_a_missing_name_are_named(self):
        header = check_codes.header_codes(self.HEADER.replace("QUORATE_IO_ERROR = 2",
                                                              "QUORATE_IO_ERROR = 3"))
        header["QUORATE_NEW"] = 9
        self.assertEqual(
            check_codes.disagreements(check_codes.schema_codes(self.SCHEMA), header),
            ["QUORATE_IO_ERROR is 2 in schemas/api.capnp and 3 in interfaces/quorate/abi.h",
             "QUORATE_NEW is absent in schemas/api.capnp and 9 in interfaces/quorate/abi.h"])


if __name__ == "__main__":
    unittest.main()
