/* SPDX-License-Identifier: BSD-2-Clause */
/* sim/text.h: no byte of a name or a report controls what reads it. */
#include "sim/text.h"
#include "tests/test.h"

static const struct {
	const char *text, *json, *visible;
} cases[] = {
	{"", "\"\"", ""},
	{"plain", "\"plain\"", "plain"},
	{"a\"b\\c", "\"a\\\"b\\\\c\"", "a\"b\\c"},
	{"\033[31m", "\"\\u001b[31m\"", "\\x1b[31m"},
	{"two\nlines\t", "\"two\\u000alines\\u0009\"", "two\\nlines\\x09"},
	{"\177", "\"\\u007f\"", "\\x7f"},
	{"\302\233", "\"\\u009b\"", "\\u009b"},     /* C1: a terminal's escape in one character */
	{"\342\200\256", "\"\\u202e\"", "\\u202e"}, /* turns the direction */
	{"\342\201\247.", "\"\\u2067.\"", "\\u2067."},
	{"\303\244\342\202\254\360\237\230\200", "\"\303\244\342\202\254\360\237\230\200\"",
	 "\303\244\342\202\254\360\237\230\200"},
	{"\377", "\"\\ufffd\"", "\\xff"},                 /* begins no character */
	{"\200", "\"\\ufffd\"", "\\x80"},                 /* continues none */
	{"\342\202", "\"\\ufffd\\ufffd\"", "\\xe2\\x82"}, /* cut */
	{"\300\212", "\"\\ufffd\\ufffd\"", "\\xc0\\x8a"}, /* a newline in more bytes than it needs */
	{"\340\200\212", "\"\\ufffd\\ufffd\\ufffd\"", "\\xe0\\x80\\x8a"},
	{"\355\240\200", "\"\\ufffd\\ufffd\\ufffd\"", "\\xed\\xa0\\x80"},                 /* a surrogate */
	{"\364\220\200\200", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"", "\\xf4\\x90\\x80\\x80"}, /* above U+10FFFF */
};

enum { CASES = COUNT(cases) };

TEST_THAT(json_strings_stay_json)
{
	for (unsigned i = 0; i < CASES; i++) {
		char found[100] = "";
		FILE *to = fmemopen(found, sizeof found, "w");

		sim_put_json(cases[i].text, to);
		fclose(to);
		assert_string_equal(found, cases[i].json);
	}
}

static int characters(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

TEST_THAT(nothing_controls_a_terminal)
{
	for (unsigned i = 0; i < CASES; i++) {
		char found[100] = "";
		FILE *to = fmemopen(found, sizeof found, "w");
		int columns = sim_put_visible(cases[i].text, to);

		fclose(to);
		assert_string_equal(found, cases[i].visible);
		assert_int_equal(columns, characters(found));
	}
}

TEST_THAT(lines_break_between_words)
{
	char found[100] = "";
	FILE *to = fmemopen(found, sizeof found, "w");

	sim_put_wrapped("one two three\nunbreakable-word four", "* ", "  ", 11, to);
	fclose(to);
	assert_string_equal(found, "* one two\n  three\n  unbreakable-word\n  four\n");
}

int main(void)
{
	return run_suite(NULL);
}
