package data_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools/data"
	"github.com/adkreplay/adkreplay/adk/tools/internal/trial"
	"github.com/adkreplay/adkreplay/internal/allocs"
)

// flat indents JSON that a case holds on one line, as tools print it.
func flat(want string) string {
	var out strings.Builder
	if strings.ContainsAny(want, "…") || !json.Valid([]byte(want)) {
		return want
	}
	var v json.RawMessage = []byte(want)
	indented, _ := json.MarshalIndent(v, "", "  ")
	out.Write(indented)
	return out.String()
}

const fruits = `[{"name":"apple","price":1.5,"qty":10},{"name":"banana","price":0.5,"qty":20},{"name":"cherry","price":3,"qty":5}]`

// BAT-2, BAT-5: chains of operations on JSON.
func TestJSONTransform(t *testing.T) {
	var cases []trial.Case
	for _, c := range []struct{ id, data, operations, want string }{
		{"B-080", fruits, `[{"op":"filter","key":"name","operator":"eq","value":"apple"},{"op":"count"}]`, `1`}, {"B-080", fruits, `[{"op":"filter","key":"price","operator":"gt","value":1},{"op":"count"}]`, `2`},
		{"B-080", fruits, `[{"op":"filter","key":"name","operator":"contains","value":"an"},{"op":"pluck","key":"name"}]`, `["banana"]`}, {"B-081", `[{"a":1},{"a":null},{}]`, `[{"op":"filter","key":"a","operator":"exists"}]`, `[{"a":1}]`},
		{"ne", `[1,2]`, `[{"op":"filter","operator":"ne","value":1}]`, `[2]`}, {"lte", `[1,2,"2"]`, `[{"op":"filter","operator":"lte","value":2}]`, `[1,2]`}, {"starts", `["ab","ba"]`, `[{"op":"filter","operator":"starts_with","value":"a"}]`, `["ab"]`}, {"ends", `["ab","ba"]`, `[{"op":"filter","operator":"ends_with","value":"a"}]`, `["ba"]`},
		{"B-082", fruits, `[{"op":"sort","key":"price"},{"op":"pluck","key":"name"}]`, `["banana","apple","cherry"]`}, {"B-082", fruits, `[{"op":"sort","key":"price","direction":"desc"},{"op":"pluck","key":"name"},{"op":"first"}]`, `["cherry"]`},
		{"missing last", `[{"a":null},{"a":2},{},{"a":1}]`, `[{"op":"sort","key":"a","direction":"desc"}]`, `[{"a":2},{"a":1},{"a":null},{}]`}, {"kinds", `[true,"b",2,"a",1,false]`, `[{"op":"sort"}]`, `[1,2,"a","b",false,true]`},
		{"B-083", fruits, `[{"op":"sum","key":"qty"}]`, `35`}, {"B-083", `[1,2,3,4,5]`, `[{"op":"avg"}]`, `3`}, {"B-083", `[1,5,3,2,4]`, `[{"op":"median"}]`, `3`}, {"B-083", `[1,2,3,4]`, `[{"op":"median"}]`, `2.5`},
		{"B-084", `[5,2,8,1,9]`, `[{"op":"min"}]`, `1`}, {"B-084", `[5,2,8,1,9]`, `[{"op":"max"}]`, `9`}, {"B-084", `[5,2,8]`, `[{"op":"count"}]`, `3`}, {"count object", `{"a":1,"b":2}`, `[{"op":"count"}]`, `2`}, {"empty", `[]`, `[{"op":"max"}]`, `null`},
		{"B-085", fruits, `[{"op":"select_keys","keys":["name"]},{"op":"first"}]`, `[{"name":"apple"}]`}, {"B-085", fruits, `[{"op":"pluck","key":"name"}]`, `["apple","banana","cherry"]`}, {"path", `[{"a":{"b":[7,8]}}]`, `[{"op":"pluck","key":"a.b.1"}]`, `[8]`},
		{"B-086", `[1,2,2,3,1,4]`, `[{"op":"unique"}]`, `[1,2,3,4]`}, {"B-086", `[{"id":1,"x":1},{"id":2},{"id":1}]`, `[{"op":"unique_by","key":"id"},{"op":"count"}]`, `2`},
		{"B-087", `[{"n":1,"team":"red"},{"n":2,"team":"blue"},{"n":3,"team":"red"}]`, `[{"op":"group_by","key":"team"}]`, `{"red":[{"n":1,"team":"red"},{"n":3,"team":"red"}],"blue":[{"n":2,"team":"blue"}]}`},
		{"B-088", `[1,2,3,4,5]`, `[{"op":"chunk","size":2}]`, `[[1,2],[3,4],[5]]`}, {"B-088", `[10,20,30,40,50]`, `[{"op":"slice","start":1,"end":4}]`, `[20,30,40]`}, {"slice", `[1,2,3]`, `[{"op":"slice","start":-2}]`, `[2,3]`}, {"slice", `[1,2,3]`, `[{"op":"slice","start":2,"end":1}]`, `[]`}, {"B-088", `[1,2,3,4,5]`, `[{"op":"first","n":2}]`, `[1,2]`}, {"B-088", `[1,2,3,4,5]`, `[{"op":"last","n":2}]`, `[4,5]`},
		{"B-089", fruits, `[{"op":"top_n","n":1,"key":"price"},{"op":"pluck","key":"name"}]`, `["cherry"]`}, {"B-089", fruits, `[{"op":"top_n","n":2,"key":"price","direction":"asc"},{"op":"pluck","key":"name"}]`, `["banana","apple"]`},
		{"B-090", `["a","b","a","c","a","b"]`, `[{"op":"frequency_count"}]`, `{"a":3,"b":2,"c":1}`}, {"B-091", fruits, `[{"op":"map_template","template":"{{name}}: {{qty}}{{none}}"},{"op":"first"}]`, `["apple: 10"]`},
		{"B-092", fruits, `[{"op":"filter","key":"qty","operator":"gte","value":10},{"op":"sum","key":"price"}]`, `2`}, {"B-093", `[1,2,3]`, `[{"op":"reverse"}]`, `[3,2,1]`}, {"B-093", `[[1,[2]],3]`, `[{"op":"flatten"}]`, `[1,[2],3]`}, {"flatten 2", `[[1,[2]],3]`, `[{"op":"flatten","depth":2}]`, `[1,2,3]`},
		{"B-094", `nope`, `[{"op":"count"}]`, `Error: Invalid JSON: line 1…`}, {"B-094", `{"a":1}`, `[{"op":"sort"}]`, `Error in operation 1 ("sort"): want a list`}, {"second", `[1]`, `[{"op":"sum"},{"op":"sum"}]`, `Error in operation 2 ("sum"): want a list`},
		{"unknown", `[1]`, `[{"op":"rumba"}]`, `Error in operation 1 ("rumba"): unknown operation`}, {"operator", `[1]`, `[{"op":"filter","operator":"like"}]`, `Error in operation 1…`}, {"size", `[1]`, `[{"op":"chunk","size":0}]`, `Error in operation 1…`}, {"size", `[1]`, `[{"op":"chunk"}]`, `Error in operation 1…`}, {"key", `[1]`, `[{"op":"pluck"}]`, `Error in operation 1…`},
		{"order kept", `{"b":1,"a":2}`, `[]`, `{"b":1,"a":2}`}, {"a text", `"hello"`, `[]`, `hello`}, {"digits", `[9007199254740993]`, `[]`, `[9007199254740993]`}, {"exact", `[9007199254740993,9007199254740992]`, `[{"op":"filter","operator":"gt","value":9007199254740992}]`, `[9007199254740993]`},
		{"exact", `[9007199254740993,9007199254740992]`, `[{"op":"max"}]`, `9007199254740993`}, {"exact", `[9007199254740995,9007199254740993]`, `[{"op":"min"}]`, `9007199254740993`}, {"exact", `[9007199254740993,-1,1e1]`, `[{"op":"sum"}]`, `9007199254741002`}, {"sum", `[9007199254740993,0.5]`, `[{"op":"sum"}]`, `9007199254740992`},
		{"sum", `["1",null]`, `[{"op":"sum"}]`, `0`}, {"long", `[1` + strings.Repeat("0", 2000) + `]`, `[{"op":"sum"},{"op":"count"}]`, `Error in operation…`},
	} {
		cases = append(cases, trial.Case{c.id, `{"data":` + trial.Object("d", c.data)[5:len(trial.Object("d", c.data))-1] + `,"operations":` + c.operations + `}`, flat(c.want)})
	}
	trial.Check(t, data.JSONTransform(), append(cases, trial.Case{"no op", `{"data":"[]","operations":[{}]}`, trial.ARGS}, trial.Case{"no list", `{"data":"[]","operations":{"op":"count"}}`, trial.ARGS}))
}

// BAT-5: operations on sets.
func TestSetOperations(t *testing.T) {
	sets := func(a, b, operation string, more ...any) string {
		return trial.Object(append([]any{"data_a", a, "data_b", b, "operation", operation}, more...)...)
	}
	trial.Check(t, data.SetOperations(), []trial.Case{
		{"B-095", sets(`[1,2,3,4]`, `[3,4,5,6]`, "intersection"), `[3,4]`}, {"B-095", sets(`[1,2,3]`, `[3,4,5]`, "union"), `[1,2,3,4,5]`}, {"B-095", sets(`[1,2,3,4]`, `[3,4]`, "difference"), `[1,2]`}, {"B-095", sets(`[1,2,3]`, `[3,4,5]`, "symmetric_difference"), `[1,2,4,5]`},
		{"B-096", trial.Object("data_a", `[1,2,3]`, "operation", "is_member", "item", 2), "Found: …"}, {"B-096", trial.Object("data_a", `[1,2,3]`, "operation", "is_member", "item", 99), "Not found: …"}, {"object", trial.Object("data_a", `[{"b":1,"a":2}]`, "operation", "is_member", "item", map[string]any{"a": 2, "b": 1}), "Found: …"},
		{"B-097", sets(`[1,2]`, `[1,2,3]`, "is_subset"), "Yes: all 2…"}, {"B-097", sets(`[1,4]`, `[1,2,3]`, "is_subset"), "No: 1 of 2…"}, {"B-097", sets(`[1,2,3]`, `[1]`, "is_superset"), "Yes: all 1…"},
		{"B-098", sets(`[{"id":1,"a":1},{"id":2,"a":1}]`, `[{"id":2,"a":2}]`, "intersection", "compare_key", "id"), `[{"id":2,"a":1}]`}, {"B-099", sets(`x`, `[]`, "union"), "Error: data_a: …"}, {"B-099", sets(`{}`, `[]`, "union"), "Error: data_a: …"}, {"B-099", sets(`[]`, `[]`, "mystery"), trial.ARGS},
		{"missing b", trial.Object("data_a", `[]`, "operation", "union"), "Error: data_b is missing…"}, {"missing item", trial.Object("data_a", `[]`, "operation", "is_member"), "Error: item is missing…"}, {"b", sets(`[]`, `1`, "union"), "Error: data_b: …"}, {"empty", sets(`[]`, `[]`, "intersection"), `[]`},
	})
}

// BAT-1, BAT-2: rows as tables, JSON and lists.
func TestFormatTable(t *testing.T) {
	rows := func(data, format string, more ...any) string {
		return trial.Object(append([]any{"data", data, "format", format}, more...)...)
	}
	const people = `[{"name":"alice","age":30},{"name":"bob","age":25,"x":1}]`
	trial.Check(t, data.FormatTable(), []trial.Case{
		{"B-100", rows(people, "markdown"), "| name | age |\n| --- | --- |\n| alice | 30 |\n| bob | 25 |"}, {"B-101", rows(`[{"a":"x|y"}]`, "markdown"), "| a |\n| --- |\n| x\\|y |"}, {"B-101", rows(people, "markdown", "columns", []string{"name"}), "| name |\n| --- |\n| alice |\n| bob |"},
		{"B-102", rows(people, "csv"), "name,age\nalice,30\nbob,25"}, {"B-103", rows(`[{"a":"x,y"},{"a":"say \"hi\""},{"a":"l\nm"}]`, "csv"), "a\n\"x,y\"\n\"say \"\"hi\"\"\"\n\"l\nm\""}, {"B-104", rows(`[{"a":"x\ty\nz"}]`, "tsv"), "a\nx y z"},
		{"B-105", rows(`x`, "csv"), "Error: …"}, {"B-105", rows(`{}`, "csv"), "Error: …"}, {"B-105", rows(`[]`, "csv"), "Empty array — no data to display."}, {"B-021", rows(`[null]`, "csv"), "Error: no columns…"}, {"B-021", rows(`[1,2]`, "csv", "columns", []string{"a"}), "a\n\n"}, {"B-021", rows(`[null]`, "markdown", "columns", []string{"a"}), "| a |\n| --- |\n|  |"},
		{"cells", rows(`[{"a":null,"b":{"z":1,"y":[]},"c":true}]`, "tsv"), "a\tb\tc\n\t{\"z\":1,\"y\":[]}\ttrue"}, {"later object", rows(`[1,{"a":2}]`, "csv"), "a\n\n2"},
	})
	trial.Check(t, data.JSONFormat(), []trial.Case{
		{"B-106", trial.Object("data", `{"a":1,"b":2}`), "{\n  \"a\": 1,\n  \"b\": 2\n}"}, {"B-106", trial.Object("data", `{"a":1,"b":2}`, "indent", 0), `{"a":1,"b":2}`}, {"B-106", trial.Object("data", `[1]`, "indent", 100), "[\n        1\n]"}, {"floor", trial.Object("data", `[1]`, "indent", 1.9), "[\n 1\n]"}, {"negative", trial.Object("data", `[1]`, "indent", -3), "[1]"}, {"B-106", trial.Object("data", `nope`), "Error: Invalid JSON: line 1, column 1…"},
	})
	trial.Check(t, data.FormatList(), []trial.Case{
		{"B-115", `{"items":["a","b","c"]}`, "• a\n• b\n• c"}, {"B-115", `{"items":["a"],"indent":4}`, "    • a"}, {"B-115", `{"items":["a","b"],"style":"numbered"}`, "1. a\n2. b"}, {"B-115", `{"items":["a","b"],"style":"newline"}`, "a\nb"},
		{"B-116", `{"items":["a","b","c"],"style":"inline_and"}`, "a, b, and c"}, {"B-116", `{"items":["a","b"],"style":"inline_and"}`, "a and b"}, {"B-116", `{"items":["only"],"style":"inline_and"}`, "only"}, {"B-116", `{"items":["a","b","c"],"style":"inline_or"}`, "a, b, or c"},
		{"B-117", `{"items":[]}`, ""}, {"B-117", `{}`, trial.ARGS}, {"B-117", `{"items":["ok",42]}`, trial.ARGS}, {"B-021", `{"items":["a"],"indent":1000000000}`, strings.Repeat(" ", 100) + "• a"},
	})
}

// BAT-1: which texts have a valid format.
func TestValidateFormat(t *testing.T) {
	var cases []trial.Case
	for format, texts := range map[string][2][]string{
		"email": {{"a.b+c@example.co.uk"}, {"not-an-email", "a@b", "a@@b.c", "a b@c.d", "@b.c"}}, "uuid": {{"550e8400-e29b-41d4-a716-446655440000"}, {"BAD", "550e8400-e29b-61d4-a716-446655440000", "550e8400e29b41d4a716446655440000"}},
		"ipv4": {{"192.168.0.1", "0.0.0.0"}, {"999.999.999.999", "1.2.3", "01.2.3.4", "::1"}}, "iso_date": {{"2024-02-29"}, {"2023-02-29", "2024-13-01", "2024-2-1", "20240229"}},
		"iso_datetime": {{"2026-03-15T14:05:00Z", "2026-03-15T14:05", "2026-03-15T14:05:00.123+02:00"}, {"2026-03-15", "2026-03-15 14:05", "2026-02-30T10:00Z", "2026-03-15T25:00Z"}}, "hex_color": {{"#fff", "#FFFF", "#a1b2c3", "#a1b2c3d4"}, {"fff", "#ff", "#fffff", "#ggg"}},
		"phone_e164": {{"+4712345678"}, {"12345", "+0123", "+1234567890123456"}}, "semver": {{"1.2.3", "1.0.0-alpha.1+build.5"}, {"1.2", "01.2.3", "v1.2.3"}}, "integer": {{"-42", "7"}, {"1.5", "", "x"}}, "decimal": {{"1.5", "-3", ".5"}, {"1.", "1,5", "e"}},
		"alphanumeric": {{"abc123"}, {"a b", "ä"}}, "slug": {{"my-slug-1"}, {"My-Slug", "-a", "a--b"}}, "hex": {{"deadBEEF", "0xff"}, {"xyz", "0x"}}, "base64": {{"aGVsbG8=", "YQ=="}, {"a===", "a b", "é"}},
	} {
		for _, text := range texts[0] {
			cases = append(cases, trial.Case{"B-107", trial.Object("value", text, "format", format), `Valid: "` + text + `" is a valid ….`})
		}
		for _, text := range texts[1] {
			cases = append(cases, trial.Case{"B-108", trial.Object("value", text, "format", format), `Invalid: "` + text + `" is not a valid ….`})
		}
	}
	trial.Check(t, data.ValidateFormat(), append(cases, trial.Case{"B-109", `{"value":"x","format":"mystery"}`, trial.ARGS}))
}

// BAT-3, BAT-5: numbers are formatted by locale, from a table in the package.
func TestFormatNumber(t *testing.T) {
	number := func(value float64, more ...any) string {
		return trial.Object(append([]any{"value", value}, more...)...)
	}
	trial.Check(t, data.FormatNumber(), []trial.Case{
		{"B-110", number(1234567.89), "1,234,567.89"}, {"B-110", number(1, "min_decimals", 3), "1.000"}, {"B-110", number(1.23456789, "max_decimals", 2), "1.23"}, {"B-110", number(1234.5, "locale", "de-DE"), "1.234,5"}, {"three", number(1.23456), "1.235"}, {"tie", number(2.5, "max_decimals", 0), "3"}, {"tie", number(-2.5, "max_decimals", 0), "-3"}, {"zero", number(-0.0001, "max_decimals", 2), "0"},
		{"B-111", number(100, "style", "currency", "currency", "USD"), "$100.00"}, {"B-111", number(100, "style", "currency"), "Error: currency is missing…"}, {"B-111", number(100, "style", "currency", "currency", "usd"), "$100.00"}, {"unknown", number(1, "style", "currency", "currency", "ABC"), "Error: currency \"ABC\"…"}, {"negative", number(-1.5, "style", "currency", "currency", "EUR"), "-€1.50"},
		{"yen", number(1234.5, "style", "currency", "currency", "JPY"), "¥1,235"}, {"code", number(5, "style", "currency", "currency", "CHF"), "CHF\u00a05.00"}, {"de", number(1234.5, "style", "currency", "currency", "EUR", "locale", "de"), "1.234,50\u00a0€"}, {"pl", number(1234.5, "style", "currency", "currency", "PLN", "locale", "pl-PL"), "1234,50\u00a0zł"}, {"ch", number(1234.5, "style", "currency", "currency", "CHF", "locale", "de-CH"), "CHF\u00a01’234.50"},
		{"fr", number(1234567.5, "locale", "fr-FR"), "1\u202f234\u202f567,5"}, {"es", number(1234.5, "locale", "es-ES"), "1234,5"}, {"es", number(12345.5, "locale", "es-ES"), "12.345,5"}, {"sv", number(-12345, "locale", "sv-SE"), "−12\u00a0345"}, {"locale", number(1, "locale", "xx-XX"), "Error: the locale…"},
		{"B-112", number(0.5, "style", "percent"), "50.0%"}, {"percent", number(0.12345, "style", "percent", "locale", "de-DE"), "12,35\u00a0%"}, {"B-112", number(1500, "style", "compact"), "1.5K"}, {"compact", number(12345, "style", "compact"), "12K"}, {"compact", number(1234567, "style", "compact"), "1.2M"}, {"compact", number(999999, "style", "compact"), "1M"}, {"compact", number(-2.5e12, "style", "compact"), "-2.5T"}, {"compact", number(123456, "style", "compact"), "123K"}, {"compact", number(950, "style", "compact"), "950"}, {"compact", number(1, "style", "compact", "locale", "de"), "Error: …English…"},
		{"B-112", number(1234, "style", "scientific"), "1.234e+3"}, {"B-112", number(0, "style", "scientific"), "0.00e+0"}, {"scientific", number(0.000123456789, "style", "scientific"), "1.234568e-4"}, {"scientific", number(9.9999999, "style", "scientific"), "1.00e+1"}, {"scientific", number(-5e-324, "style", "scientific"), "-4.940656e-324"},
		{"B-113", number(1, "style", "ordinal"), "1st"}, {"B-113", number(2, "style", "ordinal"), "2nd"}, {"B-113", number(3, "style", "ordinal"), "3rd"}, {"B-113", number(4, "style", "ordinal"), "4th"}, {"B-113", number(21, "style", "ordinal"), "21st"}, {"ordinal", number(1112, "style", "ordinal"), "1,112th"}, {"ordinal", number(1.5, "style", "ordinal"), "Error: …"}, {"ordinal", number(1, "style", "ordinal", "locale", "fr"), "Error: …English…"},
		{"B-114", `{"value":"x"}`, trial.ARGS}, {"B-114", number(1, "style", "roman"), trial.ARGS}, {"above", number(1, "min_decimals", 3, "max_decimals", 1), "Error: min_decimals…"}, {"unit", number(1500, "unit", "km"), "1,500 km"}, {"large", number(1e300), "1,000,000…"},
	})
}

// BAT-4: JSON of the maximum size and depth is refused before it is written, since its indented form
// would be hundreds of times as large as the argument.
func TestDeepAnswersAreNotWritten(t *testing.T) {
	allocs.Countable(t)
	deep := "[" + strings.Repeat(strings.Repeat("[", 90)+strings.Repeat("]", 90)+",", 5_500) + "1]"
	for tool, args := range map[*adk.Tool]string{
		data.JSONFormat(): trial.Object("data", deep, "indent", 8), data.JSONTransform(): trial.Object("data", deep, "operations", []any{map[string]any{"op": "reverse"}}),
	} {
		var answer string
		held := allocs.Peak(func() { answer, _ = trial.Answer(tool, args) })
		assert.Equal(t, "Error: result too long: more than 1 MiB, ask for less", answer, tool.Name())
		assert.Less(t, held, int64(64<<20), tool.Name())
	}
}

// BAT-4: an operation that would look for each of many keys in each of many items is refused.
func TestManyKeysInManyItems(t *testing.T) {
	items := "[" + strings.Repeat("{},", 99_999) + "{}]"
	keys := make([]any, 50_000)
	for i := range keys {
		keys[i] = "a"
	}
	for want, operation := range map[string]map[string]any{
		`Error in operation 1 ("select_keys"): 50000 keys in each of 100000 items: want at most 2000000 together`:    {"op": "select_keys", "keys": keys},
		`Error in operation 1 ("map_template"): 100000 marks in each of 100000 items: want at most 2000000 together`: {"op": "map_template", "template": strings.Repeat("{{a}}", 100_000)},
	} {
		answer, err := trial.Answer(data.JSONTransform(), trial.Object("data", items, "operations", []any{operation}))
		require.NoError(t, err)
		assert.Equal(t, want, answer)
	}
	answer, err := trial.Answer(data.JSONTransform(), trial.Object("data", `[{"a":{"b":1}},{}]`, "operations", []any{map[string]any{"op": "map_template", "template": "<{{ a.b }}{{a}}>" + strings.Repeat(" ", 3) + "{{b}}!"}}))
	require.NoError(t, err)
	assert.JSONEq(t, `["<1{\"b\":1}>   !","<>   !"]`, answer)
}
