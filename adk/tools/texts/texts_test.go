package texts_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk/tools/internal/trial"
	"github.com/adkreplay/adkreplay/adk/tools/texts"
	_ "github.com/adkreplay/adkreplay/internal/draws"
)

// BAT-4, BAT-5, BAT-6: the 32 operations on texts.
func TestStringTransform(t *testing.T) {
	var cases []trial.Case
	for _, c := range [][4]string{
		{"ß", "straße ﬁn", `{"op":"uppercase"}`, "STRASSE FIN"}, {"sigma", "ΟΔΟΣ ΣΑΣ", `{"op":"lowercase"}`, "οδος σας"}, {"ß", "straßeEins", `{"op":"constant_case"}`, "STRASSE_EINS"}, {"one letter of two", "ǆungla ǆ", `{"op":"titlecase"}`, "ǅungla ǅ"},
		{"B-118", "hello", `{"op":"uppercase"}`, "HELLO"}, {"B-118", "HELLO", `{"op":"lowercase"}`, "hello"}, {"B-118", "hello world", `{"op":"capitalize"}`, "Hello world"}, {"B-118", "hELLO wORLD", `{"op":"sentence_case"}`, "Hello world"}, {"title", "hELLO wORLD", `{"op":"titlecase"}`, "Hello World"},
		{"B-119", "hello world foo", `{"op":"camel_case"}`, "helloWorldFoo"}, {"B-119", "hello world foo", `{"op":"pascal_case"}`, "HelloWorldFoo"}, {"B-120", "helloWorld", `{"op":"snake_case"}`, "hello_world"}, {"B-120", "helloWorld", `{"op":"kebab_case"}`, "hello-world"}, {"B-120", "helloWorld", `{"op":"constant_case"}`, "HELLO_WORLD"}, {"train", "helloHTMLParser2", `{"op":"train_case"}`, "Hello-Html-Parser2"},
		{"B-121", "  hi  ", `{"op":"trim"}`, "hi"}, {"B-121", "  hi  ", `{"op":"trim_start"}`, "hi  "}, {"B-121", "  hi  ", `{"op":"trim_end"}`, "  hi"}, {"B-121", " a  b\n c ", `{"op":"normalize_whitespace"}`, "a b c"}, {"B-122", "abc🎉", `{"op":"reverse"}`, "🎉cba"}, {"B-122", "Héllo World!", `{"op":"slug"}`, "hello-world"}, {"B-122", "<b>hi</b> <i>there</i>", `{"op":"strip_html"}`, "hi there"},
		{"B-123", "a b c", `{"op":"count_words"}`, "3"}, {"B-123", "héllo", `{"op":"count_chars"}`, "5"}, {"B-123", "a\nb\nc", `{"op":"count_lines"}`, "3"}, {"B-124", "a", `{"op":"repeat","count":5}`, "aaaaa"}, {"B-124", "hi", `{"op":"pad_start","length":5,"char":"*"}`, "***hi"}, {"B-124", "hi", `{"op":"pad_end","length":5,"char":"ab"}`, "hiaba"},
		{"B-125", "hello world", `{"op":"slice","start":0,"end":5}`, "hello"}, {"slice", "hello", `{"op":"slice","start":-3}`, "llo"}, {"slice", "hello", `{"op":"slice","start":3,"end":1}`, ""}, {"B-125", "hello world", `{"op":"truncate","length":8}`, "hello w…"}, {"B-125", "hi", `{"op":"truncate","length":8}`, "hi"}, {"truncate", "hello", `{"op":"truncate","length":3,"suffix":""}`, "hel"}, {"truncate", "hello", `{"op":"truncate","length":-3,"suffix":""}`, ""},
		{"B-126", "a a", `{"op":"replace","from":"a","to":"b"}`, "b a"}, {"B-126", "a a", `{"op":"replace_all","from":"a","to":"b"}`, "b b"}, {"B-126", "hello 42 world 7", `{"op":"regex_replace","pattern":"\\d+","replacement":"N"}`, "hello N world N"}, {"groups", "john smith", `{"op":"regex_replace","pattern":"(\\w+) (?<last>\\w+)","replacement":"$<last>, $1 $& $$ $3 $"}`, "smith, john john smith $ $3 $"}, {"flags", "Aa", `{"op":"regex_replace","pattern":"a","replacement":"x","flags":"giuxy"}`, "xx"},
		{"B-127", "a", `{"op":"regex_replace","pattern":"(","replacement":""}`, `Error in operation 1 ("regex_replace"): Invalid regex…`}, {"B-128", "a,b,c", `{"op":"split","delimiter":","}`, `["a","b","c"]`}, {"B-128", "abc", `{"op":"count_chars"},{"op":"uppercase"}`, `Error: Operation 2 ("uppercase")…`}, {"list", "a", `{"op":"split","delimiter":","},{"op":"trim"}`, `Error: Operation 2…`},
		{"B-129", "a\nb", `{"op":"indent","size":2}`, "  a\n  b"}, {"indent", "a", `{"op":"indent","char":"-"}`, "--a"}, {"B-129", "    a\n      b\n  \n    c", `{"op":"dedent"}`, "a\n  b\n\nc"}, {"B-129", " Hello World ", `{"op":"trim"},{"op":"kebab_case"}`, "hello-world"}, {"none", "x", ``, "x"},
		{"unknown", "x", `{"op":"rumba"}`, `Error in operation 1 ("rumba"): unknown operation`}, {"missing", "x", `{"op":"repeat"}`, "Error in operation 1…"}, {"type", "x", `{"op":"split","delimiter":1}`, "Error in operation 1…"}, {"missing", "x", `{"op":"replace","from":"x"}`, "Error in operation 1…"},
		{"growth", strings.Repeat("x", 1000), strings.TrimSuffix(strings.Repeat(`{"op":"repeat","count":100},`, 3), ","), `Error in operation 2 ("repeat"): result too long`}, {"growth", strings.Repeat("x", 9000), `{"op":"replace_all","from":"","to":"` + strings.Repeat("y", 9000) + `"}`, "Error in operation 1…too long"}, {"growth", strings.Repeat("x", 9000), `{"op":"regex_replace","pattern":"","replacement":"` + strings.Repeat("y", 9000) + `"}`, "Error in operation 1…too long"},
		{"many groups", strings.Repeat("x", 9000), `{"op":"regex_replace","pattern":"()","replacement":"` + strings.Repeat("$1", 9000) + `"}`, `Error in operation 1 ("regex_replace"): 9001 matches to replace by 9001 texts and groups each: want at most 5000000 together`}, {"no end of names", "ax", `{"op":"regex_replace","pattern":"(?<n>a)","replacement":"$<n>$<m>>$<n$"}`, "a>$<n$x"},
		{"answer", strings.Repeat("x", 20_000), `{"op":"repeat","count":100}`, "Error: result too long…"}, {"pad", "x", `{"op":"pad_end","length":1000000},{"op":"count_chars"}`, "10000"}, {"repeat", "x", `{"op":"repeat","count":-1}`, ""},
	} {
		want := c[3]
		if c[0] == "B-125" { // where the ellipsis is a part of the answer and not a wildcard
			want = strings.ReplaceAll(want, "…", "\u2026")
		}
		cases = append(cases, trial.Case{c[0], `{"text":` + trial.Object("t", c[1])[5:len(trial.Object("t", c[1]))-1] + `,"operations":[` + c[2] + `]}`, want})
	}
	trial.Check(t, texts.StringTransform(), append(cases, trial.Case{"B-130", `{"text":"a"}`, trial.ARGS}))
}

// BAT-6: matches of patterns.
func TestStringExtract(t *testing.T) {
	trial.Check(t, texts.StringExtract(), []trial.Case{
		{"B-131", trial.Object("text", "a1 b22 c333", "pattern", `\d+`), `["1","22","333"]`}, {"B-131", trial.Object("text", "abc", "pattern", `\d+`), "No matches found."}, {"B-131", trial.Object("text", "k=v x=y", "pattern", `(\w)=(\w)`, "group", 2), `["v","y"]`}, {"B-131", trial.Object("text", "aA", "pattern", `a`, "flags", "gi"), `["a","A"]`},
		{"B-131", trial.Object("text", "a", "pattern", `(`), "Error: Invalid regex…"}, {"B-131", trial.Object("text", "a"), trial.ARGS}, {"group", trial.Object("text", "a", "pattern", `a`, "group", 1), "Error: the pattern has no group 1…"}, {"took no part", trial.Object("text", "ab", "pattern", `(a)|(b)`, "group", 2), `["b"]`}, {"look-ahead", trial.Object("text", "a", "pattern", `a(?=b)`), "Error: Invalid regex…look-around…"},
		{"B-132", trial.Object("text", strings.Repeat("x", 600), "pattern", `x`), `["x",…"x"] (truncated at 500)`}, {"lines", trial.Object("text", "a\nb", "pattern", `^.$`, "flags", "m"), `["a","b"]`},
	})
}

// BAT-5: counts and properties of texts.
func TestTextAnalyze(t *testing.T) {
	trial.Check(t, texts.TextAnalyze(), []trial.Case{
		{"B-133", trial.Object("text", "hello world"), "{\n  \"char_count\": 11,\n  \"char_count_no_spaces\": 10,\n  \"word_count\": 2,\n  \"unique_word_count\": 2,\n  \"sentence_count\": 1,\n  \"paragraph_count\": 1,\n  \"line_count\": 1,\n  \"avg_word_length\": 5,\n  \"token_estimate\": 3,\n" +
			"  \"is_all_alpha\": false,\n  \"is_all_numeric\": false,\n  \"is_all_alphanumeric\": false,\n  \"is_all_ascii\": true,\n  \"is_all_lowercase\": true,\n  \"is_all_uppercase\": false,\n  \"has_unicode\": false\n}"},
		{"B-133", trial.Object("text", "Hello, hello! Hello."), "…\"unique_word_count\": 1…"}, {"B-134", trial.Object("text", "One. Two! Three?"), "…\"sentence_count\": 3…"}, {"B-134", trial.Object("text", "a\n\nb\n \n\nc"), "…\"paragraph_count\": 3…"}, {"B-134", trial.Object("text", "aa bb cc"), "…\"avg_word_length\": 2…"}, {"B-135", trial.Object("text", "abc"), "…\"is_all_alpha\": true…"}, {"B-135", trial.Object("text", "123"), "…\"is_all_numeric\": true…"}, {"B-135", trial.Object("text", "ABC"), "…\"is_all_uppercase\": true…"}, {"B-135", trial.Object("text", "é"), "…\"is_all_ascii\": false…\"has_unicode\": true…"},
		{"B-136", trial.Object("text", "1234567890"), "…\"token_estimate\": 3…"}, {"B-137", `{}`, trial.ARGS}, {"empty", trial.Object("text", ""), "…\"sentence_count\": 0,\n  \"paragraph_count\": 0…\"avg_word_length\": 0…"}, {"no end", trial.Object("text", "v1.2 is out"), "…\"sentence_count\": 1…"},
	})
	trial.Check(t, texts.TextLines(), []trial.Case{
		{"B-138", trial.Object("text", "b\na\nC", "operation", "sort"), "C\na\nb"}, {"B-138", trial.Object("text", "b\na\nC", "operation", "sort", "case_insensitive", true), "a\nb\nC"}, {"B-138", trial.Object("text", "a\nb", "operation", "sort_desc"), "b\na"}, {"B-138", trial.Object("text", "a\nb", "operation", "reverse"), "b\na"}, {"B-139", trial.Object("text", "a\nb\na", "operation", "deduplicate"), "a\nb"}, {"B-139", trial.Object("text", "Hello\nhello\nWorld", "operation", "deduplicate", "case_insensitive", true), "Hello\nWorld"},
		{"B-140", trial.Object("text", "a\n\nb\n \nc", "operation", "filter_empty"), "a\nb\nc"}, {"B-140", trial.Object("text", " a \n b", "operation", "trim_each"), "a\nb"}, {"B-140", trial.Object("text", "a\nb", "operation", "number"), "1. a\n2. b"}, {"B-140", trial.Object("text", "a\n\nb\n\nc", "operation", "count"), "5 lines (3 non-empty, 2 empty)"}, {"B-141", trial.Object("text", "a", "operation", "shuffle"), trial.ARGS},
	})
}

// BAT-4: the differences of two texts, as a shortest script.
func TestTextDiff(t *testing.T) {
	numbered := func(prefix string, n int) string {
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprint(prefix, i))
		}
		return strings.Join(lines, "\n")
	}
	trial.Check(t, texts.TextDiff(), []trial.Case{
		{"B-142", trial.Object("text_a", "a", "text_b", "a"), "Texts are identical — no differences found."}, {"B-143", trial.Object("text_a", "one\ntwo\nthree", "text_b", "one\nTWO\nthree"), "+1 line added, -1 line removed, 2 unchanged\n\n- two\n+ TWO"}, {"B-143", trial.Object("text_a", "a\nb", "text_b", "A\nB"), "+2 lines added, -2 lines removed, 0 unchanged\n\n- a\n- b\n+ A\n+ B"},
		{"B-144", trial.Object("text_a", "a\nb\nc", "text_b", "a\nB\nc"), "…2 unchanged…"}, {"B-145", trial.Object("text_a", numbered("a", 100), "text_b", numbered("b", 100)), "+100 lines added, -100 lines removed, 0 unchanged\n\n- a0\n…\n- a59\n\u2026 (140 more lines truncated)"}, {"B-146", trial.Object("text_a", "the quick brown fox", "text_b", "the slow old fox", "mode", "words"), "+2 words added, -2 words removed, 2 unchanged\n\n- quick\n- brown\n+ slow\n+ old"},
		{"B-147", trial.Object("text_a", "a", "text_b", "b", "mode", "chars"), trial.ARGS}, {"B-147", trial.Object("text_a", "a"), trial.ARGS}, {"empty lines", trial.Object("text_a", "a", "text_b", "a\n\n"), "+2 lines added, -0 lines removed, 1 unchanged"}, {"large", trial.Object("text_a", strings.Repeat("\n", 20_000), "text_b", ""), "Error: too large…"},
		{"moved", trial.Object("text_a", "a\nb\nc", "text_b", "b\nc\na"), "+1 line added, -1 line removed, 2 unchanged\n\n- a\n+ a"}, {"far apart", trial.Object("text_a", numbered("a", 20_000), "text_b", numbered("b", 20_000)), "+20000 lines added…"}, {"two letters", trial.Object("text_a", strings.Repeat("a\nb\n", 8000), "text_b", strings.Repeat("b\nb\na\n", 6000)), "+…"},
	})
	trial.Check(t, texts.StringSimilarity(), []trial.Case{
		{"B-148", trial.Object("a", "abc", "b", "abc"), "Edit distance: 0\nSimilarity: 100% (identical)"}, {"B-148", trial.Object("a", "", "b", ""), "Edit distance: 0\nSimilarity: 100% (identical)"}, {"B-148", trial.Object("a", "kitten", "b", "sitten"), "Edit distance: 1\nSimilarity: 83.3% (similar)"}, {"B-148", trial.Object("a", "kitten", "b", "sitting"), "Edit distance: 3\nSimilarity: 57.1% (somewhat similar)"}, {"B-148", trial.Object("a", "apple", "b", "xyz"), "Edit distance: 5\nSimilarity: 0% (very different)"},
		{"B-149", trial.Object("a", "HELLO", "b", "hello", "case_insensitive", true), "…100%…"}, {"B-149", trial.Object("a", "HELLO", "b", "hello"), "Edit distance: 5…"}, {"B-149", `{"a":"x"}`, trial.ARGS}, {"large", trial.Object("a", strings.Repeat("x", 5001), "b", ""), "Error: too large…"},
		{"almost", trial.Object("a", strings.Repeat("x", 3000), "b", strings.Repeat("x", 2999)+"y"), "Edit distance: 1\nSimilarity: 99.9% (very similar)"},
	})
}

// BAT-4: the script of text_diff turns the first text into the second, and is as short as the one
// that a table of all pairs finds.
func TestTextDiffIsShortest(t *testing.T) {
	tool := texts.TextDiff()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 90)
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		answer, err := trial.Answer(tool, trial.Object("text_a", strings.Join(a, "\n"), "text_b", strings.Join(b, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(answer, "Texts are identical") {
			return
		}
		want := longest(a, b)
		var added, removed, unchanged int
		head, _, _ := strings.Cut(strings.NewReplacer("lines", "line").Replace(answer), "\n")
		if _, err := fmt.Sscanf(head, "+%d line added, -%d line removed, %d unchanged", &added, &removed, &unchanged); err != nil {
			t.Fatal(answer, err)
		}
		if unchanged != want || added != len(b)-want || removed != len(a)-want {
			t.Fatalf("%v %v: %s, want %d unchanged", a, b, head, want)
		}
	})
}

// longest is the length of the longest common subsequence, computed in the slow way.
func longest(a, b []string) int {
	row := make([]int, len(b)+1)
	for i := range a {
		before := 0
		for j := range b {
			kept := row[j+1]
			if a[i] == b[j] {
				row[j+1] = before + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			before = kept
		}
	}
	return row[len(b)]
}

// BAT-2: encodings and escapes, and malformed input.
func TestEncodings(t *testing.T) {
	var cases []trial.Case
	code := func(id, text, scheme, direction, want string) {
		cases = append(cases, trial.Case{id, trial.Object("text", text, "scheme", scheme, "direction", direction), want})
	}
	code("B-150", "hello", "base64", "encode", "aGVsbG8=")
	code("B-150", "aGVsbG8=", "base64", "decode", "hello")
	code("B-150", "aGVsbG8", "base64", "decode", "hello")
	for _, text := range []string{"héllo", "世界", "a+b/c?d=e&f", ""} {
		for _, scheme := range []string{"base64", "base64url", "hex", "url", "html_entities"} {
			encoded, err := trial.Answer(texts.EncodeText(), trial.Object("text", text, "scheme", scheme))
			if err != nil {
				t.Error(err)
			}
			code("B-150", encoded, scheme, "decode", text)
		}
	}
	code("B-151", "hello world & friends", "url", "encode", "hello%20world%20%26%20friends")
	code("url", "-_.!~*'()+/é", "url", "encode", "-_.!~*'()%2B%2F%C3%A9")
	code("B-151", "hello%20world+x", "url", "decode", "hello world+x")
	code("B-151", "%ZZ", "url", "decode", "Error: malformed…")
	code("B-152", `<a href="x">&'`, "html_entities", "encode", "&lt;a href=&quot;x&quot;&gt;&amp;&#39;")
	code("B-152", "&#65;&#x42;&amp;&eacute;", "html_entities", "decode", "AB&é")
	for _, scheme := range []string{"base64", "hex"} {
		code("malformed", "a!", scheme, "decode", "Error: malformed…")
	}
	code("no UTF-8", "/w==", "base64", "decode", "Error: malformed…")
	code("no UTF-8", "ff", "hex", "decode", "Error: malformed…")
	code("padding", "YQ=", "base64", "decode", "Error: malformed…")
	code("B-153", "x", "rot13", "encode", trial.ARGS)
	code("B-153", "x", "hex", "invert", trial.ARGS)
	trial.Check(t, texts.EncodeText(), append(cases, trial.Case{"B-153", `{"scheme":"hex"}`, trial.ARGS}))

	cases = nil
	for target, pair := range map[string][2]string{
		"json_string": {"a\"b\n", `a\"b\n`}, "regex": {"a.b*c", `a\.b\*c`}, "csv_field": {`a,"b"`, `"a,""b"""`}, "sql_like": {`50%_\`, `50\%\_\\`}, "markdown": {"*a* _b_ `c`", "\\*a\\* \\_b\\_ \\`c\\`"}, "html": {`<a>`, "&lt;a&gt;"}, "xml": {`it's`, "it&apos;s"},
	} {
		cases = append(cases, trial.Case{"B-154", trial.Object("text", pair[0], "target", target), pair[1]}, trial.Case{"B-154", trial.Object("text", pair[1], "target", target, "direction", "unescape"), pair[0]})
	}
	for _, c := range [][2]string{{"json_string", `a"b`}, {"json_string", `\x`}, {"regex", `\`}, {"regex", `\a`}, {"csv_field", `"a"b"`}, {"csv_field", `"`}, {"markdown", `\a`}} {
		cases = append(cases, trial.Case{"malformed", trial.Object("text", c[1], "target", c[0], "direction", "unescape"), "Error: malformed…"})
	}
	trial.Check(t, texts.TextEscape(), append(cases, trial.Case{"B-154", trial.Object("text", "plain", "target", "csv_field"), "plain"},
		trial.Case{"column", trial.Object("text", `ab\q`, "target", "json_string", "direction", "unescape"), "Error: malformed: line 1, column 4: …"}))
	trial.Check(t, texts.UnicodeNormalize(), []trial.Case{
		{"B-155", trial.Object("text", "café résumé", "operation", "strip_accents"), "cafe resume"}, {"B-155", trial.Object("text", "hello", "operation", "strip_accents"), "hello"}, {"B-155", trial.Object("text", "AB", "operation", "code_points"), "U+0041 (A)\nU+0042 (B)"}, {"B-155", trial.Object("text", "🎉", "operation", "code_points"), "U+1F389 (🎉)"},
		{"B-156", trial.Object("text", "e\u0301", "operation", "nfc"), "é"}, {"B-156", trial.Object("text", "é", "operation", "nfd"), "e\u0301"}, {"B-156", trial.Object("text", "ﬁ", "operation", "nfkc"), "fi"}, {"B-156", trial.Object("text", "ﬁé", "operation", "nfkd"), "fie\u0301"}, {"B-156", trial.Object("text", "x", "operation", "shake"), trial.ARGS}, {"long", trial.Object("text", strings.Repeat("x", 900_000), "operation", "code_points"), "Error: result too long…"},
	})
}

// BAT-5, BAT-7: CSV is converted to JSON.
func TestParseCSV(t *testing.T) {
	var fifty strings.Builder
	fifty.WriteString("n\n")
	for i := range 50 {
		fmt.Fprintln(&fifty, i)
	}
	trial.Check(t, texts.ParseCSV(), []trial.Case{
		{"B-157", trial.Object("text", "name,age\nalice,30\nbob,25"), "[\n  {\n    \"name\": \"alice\",\n    \"age\": 30\n  },\n  {\n    \"name\": \"bob\",\n    \"age\": 25\n  }\n]"}, {"B-157", trial.Object("text", "a,1\nb,2", "has_header", false), "[\n  [\n    \"a\",\n    1\n  ],\n  [\n    \"b\",\n    2\n  ]\n]"}, {"B-157", trial.Object("text", "a\tb\n1\t2"), "[\n  {\n    \"a\": 1,\n    \"b\": 2\n  }\n]"},
		{"names twice", trial.Object("text", "a,b,a,a_1,a\n1,2,3,4,5"), "Parse warnings: column 3 is a further \"a\", and named \"a_2\"; column 5 is a further \"a\", and named \"a_3\"\n\n[\n  {\n    \"a\": 1,\n    \"b\": 2,\n    \"a_2\": 3,\n    \"a_1\": 4,\n    \"a_3\": 5\n  }\n]"},
		{"columns", trial.Object("text", strings.Repeat(",", 100_000)), "Error: Nothing to parse: row 1 has 100001 fields, want at most 100000"},
		{"B-157", trial.Object("text", fifty.String(), "limit", 5), "[…\"n\": 4\n  }\n]\n\n(Showing 5 of 50 rows)"}, {"B-157", `{}`, trial.ARGS}, {"typed", trial.Object("text", "a,b,c,d,e\ntrue,FALSE,2026-01-02,007,9007199254740993"), "…true,…false,…\"2026-01-02\",…\"007\",…9007199254740993…"}, {"quotes", trial.Object("text", "a,b\n\"x,y\",\"say \"\"hi\"\"\"\n"), "…\"x,y\"…\"say \\\"hi\\\"\"…"},
		{"short and long", trial.Object("text", "a,b\n1\n1,2,3\n4,5"), "Parse warnings: row 1 has 1 fields, want 2; row 2 has 3 fields, want 2\n\n[…\"__parsed_extra\": [\n      3\n    ]…"}, {"blank rows", trial.Object("text", "a\n\n1\n\n"), "[\n  {\n    \"a\": 1\n  }\n]"}, {"bad quote", trial.Object("text", "a,b\nx\"y,2"), "Parse warnings: …\n\n[…x\\\"y…"}, {"delimiter", trial.Object("text", "a#b\n1#2", "delimiter", "#"), "…\"b\": 2…"},
		{"delimiter", trial.Object("text", "a", "delimiter", "::"), "Error: delimiter…"}, {"nothing", trial.Object("text", " \n "), "Error: Nothing to parse"}, {"header alone", trial.Object("text", "a,b"), "[]"}, {"mark", trial.Object("text", "\ufeffa\n1"), "[\n  {\n    \"a\": 1\n  }\n]"},
	})
	trial.Check(t, texts.DetectDelimiter(), []trial.Case{
		{"B-161", trial.Object("text", "a,b,c"), `Detected delimiter: comma (",") — ~3 fields per row`}, {"B-161", trial.Object("text", "a\tb\nc\td"), `Detected delimiter: tab ("\t") — ~2 fields per row`}, {"B-161", trial.Object("text", "a;b;c\nd;e;f"), "Detected delimiter: semicolon…~3…"}, {"B-161", trial.Object("text", "a|b\nc|d"), "Detected delimiter: pipe…"}, {"B-161", trial.Object("text", " \n"), "Error: No lines to analyze"}, {"none", trial.Object("text", "abc"), `Detected delimiter: comma (",") — ~0 fields per row`},
	})
}

// BAT-4, BAT-5: YAML is converted to JSON, and the expansion of aliases is bounded.
func TestParseYAML(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	trial.Check(t, texts.ParseYAML(), []trial.Case{
		{"keys twice", trial.Object("text", "a: 1\nb: 2\na: 3"), "Error: Invalid YAML: line 3: the key \"a\" is there twice"}, {"first line", trial.Object("text", "\tx: 1"), "Error: Invalid YAML: line 1: …"},
		{"B-159", trial.Object("text", "42"), "42"}, {"B-159", trial.Object("text", "b: 1\na: x"), "{\n  \"b\": 1,\n  \"a\": \"x\"\n}"}, {"B-159", trial.Object("text", "- 1\n- two"), "[\n  1,\n  \"two\"\n]"}, {"B-159", trial.Object("text", "a:\n  b: [1, {c: d}]"), "…\"c\": \"d\"…"}, {"B-159", trial.Object("text", "a: [1"), "Error: Invalid YAML: line…"}, {"empty", trial.Object("text", ""), "null"},
		{"times", trial.Object("text", "d: 2026-01-02\nt: 2026-01-02T03:04:05Z"), "…\"2026-01-02\"…\"2026-01-02T03:04:05Z\"…"}, {"keys", trial.Object("text", "1: a\ntrue: b\n[x]: c\nnull: d"), "{\n  \"1\": \"a\",\n  \"true\": \"b\",\n  \"[\\\"x\\\"]\": \"c\",\n  \"null\": \"d\"\n}"}, {"kinds", trial.Object("text", "[0x1F, 1_000, .5, yes, ~, 9007199254740993]"), "[\n  31,\n  1000,\n  0.5,\n  \"yes\",\n  null,\n  9007199254740993\n]"},
		{"merge", trial.Object("text", "a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3"), "…\"b\": {\n    \"y\": 3,\n    \"x\": 1\n  }…"}, {"bomb", trial.Object("text", bomb), "Error: Invalid YAML: …aliases…"}, {"cycle", trial.Object("text", "a: &a [*a]"), "Error: Invalid YAML: …"}, {"two", trial.Object("text", "a: 1\n---\nb: 2"), "Error: Invalid YAML: …second document…"}, {"deep", trial.Object("text", strings.Repeat("[", 200)+strings.Repeat("]", 200)), "Error: Invalid YAML: …nested…"}, {"deeper", trial.Object("text", strings.Repeat("[", 100_000)), "Error: Invalid YAML: …"},
	})
	trial.Check(t, texts.ParseKV(), []trial.Case{
		{"B-160", trial.Object("text", "A=1\n# no\nB=\"two\"\nC='3'\nnothing\nA=4"), "{\n  \"A\": \"4\",\n  \"B\": \"two\",\n  \"C\": \"3\"\n}"}, {"B-160", trial.Object("text", "a: 1\nb: x=y"), "{\n  \"a\": \"1\",\n  \"b: x\": \"y\"\n}"}, {"B-160", trial.Object("text", "a: x=y", "kv_delimiter", ":"), "{\n  \"a\": \"x=y\"\n}"}, {"B-160", trial.Object("text", "a=1,b=2", "pair_delimiter", "comma"), "…\"b\": \"2\"…"}, {"B-160", trial.Object("text", "a=1;b=2", "pair_delimiter", "semicolon"), "…\"b\": \"2\"…"}, {"B-160", trial.Object("text", "a=1&b=2", "pair_delimiter", "ampersand"), "…\"b\": \"2\"…"}, {"B-160", trial.Object("text", "a=1", "kv_delimiter", "*"), trial.ARGS},
		{"comments", trial.Object("text", "#a=1", "skip_comments", false), "{\n  \"#a\": \"1\"\n}"},
	})
}
