package tools_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sebdah/goldie/v2"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools"
	"github.com/adkreplay/adkreplay/adk/tools/internal/trial"
)

// examples has a call of each tool, for the page that lists the tools.
var examples = map[string]string{
	"calculate": `{"expression":"2 + 3 * sqrt(16)"}`, "evaluate_katex": `{"katex":"\\frac{1}{2} + \\sqrt{9}"}`, "stats_describe": `{"numbers":"[2,4,4,4,5,5,7,9]"}`,
	"stats_correlate": `{"x":"[1,2,3,4]","y":"[2,4,5,9]"}`, "stats_transform": `{"numbers":"[100,110,99]","operation":"pct_change"}`, "stats_histogram": `{"numbers":"[1,2,2,3,3,3,8]","bins":3}`, "convert_unit": `{"value":26.2,"from":"mi","to":"km"}`,
	"json_transform": `{"data":"[{\"name\":\"apple\",\"price\":1.5},{\"name\":\"cherry\",\"price\":3}]","operations":[{"op":"filter","key":"price","operator":"gt","value":2},{"op":"pluck","key":"name"}]}`,
	"set_operations": `{"data_a":"[1,2,3]","data_b":"[3,4]","operation":"symmetric_difference"}`, "format_table": `{"data":"[{\"name\":\"alice\",\"age\":30}]","format":"markdown"}`, "json_format": `{"data":"{\"b\":1,\"a\":[2]}"}`,
	"validate_format": `{"value":"2026-02-30","format":"iso_date"}`, "format_number": `{"value":1234.5,"style":"currency","currency":"EUR","locale":"de-DE"}`, "format_list": `{"items":["a","b","c"],"style":"inline_or"}`,
	"string_transform": `{"text":"Hello World","operations":[{"op":"kebab_case"},{"op":"truncate","length":8}]}`, "string_extract": `{"text":"a1 b22","pattern":"\\d+"}`, "text_analyze": `{"text":"One. Two!"}`, "text_lines": `{"text":"b\na","operation":"sort"}`,
	"text_diff": `{"text_a":"one\ntwo\nthree","text_b":"one\nTWO\nthree"}`, "string_similarity": `{"a":"kitten","b":"sitting"}`, "encode_text": `{"text":"hello","scheme":"base64"}`, "text_escape": `{"text":"a.b*c","target":"regex"}`,
	"unicode_normalize": `{"text":"café","operation":"strip_accents"}`, "parse_csv": `{"text":"name,age\nalice,30"}`, "parse_yaml": `{"text":"a:\n  - 1\n  - two"}`, "parse_kv": `{"text":"HOST=example.org\nPORT=80"}`, "detect_delimiter": `{"text":"a;b;c\nd;e;f"}`,
	"date_add": `{"date":"2026-01-31","direction":"add","months":1}`, "date_diff": `{"from":"2026-01-15","to":"2026-04-15","unit":"months"}`, "duration_format": `{"seconds":3725}`, "date_nth_weekday": `{"nth":"2nd","weekday":"friday","month":3,"year":2026}`,
	"date_calendar_info": `{"date":"2026-03-15"}`, "date_parse": `{"text":"next friday at 3pm","reference_date":"2026-05-15"}`, "date_period": `{"date":"2026-03-15","period":"quarter","boundary":"end"}`, "date_business_days": `{"from":"2026-03-02","add_days":5}`,
	"get_current_time": `{"timezone":"Europe/Oslo"}`, "convert_time": `{"source_timezone":"Asia/Tokyo","time":"09:00"}`,
	"color_contrast": `{"foreground":"#777777","background":"white"}`, "color_scheme": `{"color":"teal","scheme":"triadic"}`, "color_adjust": `{"color":"navy","action":"lighten","amount":20}`,
	"compare_values": `{"a":"10","b":"9"}`, "compare_records": `{"record_a":"{\"name\":\"alice\",\"z\":1}","record_b":"{\"name\":\"bob\",\"z\":1}"}`, "geo_distance": `{"lat1":59.91,"lon1":10.75,"lat2":60.39,"lon2":5.32}`,
	"geo_within_radius": `{"lat":0,"lon":1,"center_lat":0,"center_lon":0,"radius":112}`, "geo_bbox_contains": `{"lat":0,"lon":179,"sw_lat":-1,"sw_lon":170,"ne_lat":1,"ne_lon":-170}`,
	"list_memories": `{}`, "store_memory": `{"content":"likes tea","confidence":0.9,"importance":0.5,"id":"m1"}`, "update_memory": `{"id":"m1","importance":1}`, "delete_memory": `{"id":"m1"}`,
	"list_retrievables": `{}`, "store_retrievable": `{"content":"a page","trustTier":"third-party-public","id":"r1"}`, "update_retrievable": `{"id":"r1","score":1}`, "delete_retrievable": `{"id":"r1"}`,
	"list_standing_instructions": `{}`, "add_standing_instruction": `{"content":"Be short."}`, "remove_standing_instruction": `{"content":"Be short."}`,
}

// The page of the tools is generated from the tools: from their names, descriptions and arguments,
// and from the answer of each to its example.
func TestPage(t *testing.T) {
	var page strings.Builder
	page.WriteString("# The tools\n\nMade of the tools themselves by `go test ./adk/tools -update`; a test holds it to them. `*` marks an argument that has to be given, `=` what it is otherwise.\n")
	for _, tool := range tools.All(tools.Options{}) {
		args, has := examples[tool.Name()]
		require.True(t, has, "%s has no example", tool.Name())
		answer, err := trial.Answer(tool, args)
		require.NoError(t, err, tool.Name())
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n%s\n```text\n%s\n---\n%s\n```\n", tool.Name(), tool.Description(), arguments(t, tool), args, answer)
	}
	goldie.New(t, goldie.WithFixtureDir("."), goldie.WithNameSuffix(".md")).Assert(t, "TOOLS", []byte(page.String()))
}

// arguments lists the arguments of a tool, one in each line.
func arguments(t *testing.T, tool *adk.Tool) string {
	var schema struct {
		Required   []string
		Properties map[string]struct {
			Type, Description string
			Enum              []string
			Default           any
		}
	}
	require.NoError(t, json.Unmarshal(tool.InputSchema(), &schema))
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		p := schema.Properties[name]
		mark, kind := "", p.Type
		if slices.Contains(schema.Required, name) {
			mark = "*"
		}
		if p.Default != nil {
			usual, err := json.Marshal(p.Default)
			require.NoError(t, err)
			mark = "=" + string(usual)
		}
		if len(p.Enum) > 0 {
			kind = strings.Join(p.Enum, " ")
		} else if kind == "" {
			kind = "any"
		}
		fmt.Fprintf(&lines, "- `%s%s` (%s): %s\n", name, mark, kind, p.Description)
	}
	if lines.Len() > 0 {
		lines.WriteString("\n")
	}
	return lines.String()
}
