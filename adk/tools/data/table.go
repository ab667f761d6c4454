package data

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
	"github.com/adkreplay/adkreplay/adk/tools/internal/spec"
)

// JSONFormat returns the tool that writes JSON over several lines, or on one.
func JSONFormat() *adk.Tool {
	return spec.Tool{
		Name:        "json_format",
		Description: "Pretty-prints JSON with an indent of 1 to 8 blanks, or minifies it with an indent of 0.",
		Args: []spec.Arg{
			spec.Text("data", "the text of the JSON").Required(), spec.Number("indent", "blanks a level, 0 to 8; taken as the nearest of these").Default(2),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			value, err := spec.JSON(c.Text("data"))
			if err != nil {
				return "", err
			}
			return spec.Indented(value, int(math.Floor(max(0, min(8, c.Number("indent")))))), nil
		},
	}.Make()
}

// FormatTable returns the tool that writes a list of objects as a table.
func FormatTable() *adk.Tool {
	return spec.Tool{
		Name:        "format_table",
		Description: "Writes a JSON list of objects as a table in Markdown, CSV or TSV. The columns are the keys of the first object, or those given.",
		Args: []spec.Arg{
			spec.Text("data", "the text of a JSON list of objects").Required(), spec.Word("format", "the form of the table", "markdown", "csv", "tsv").Required(),
			spec.TextList("columns", "the columns, in their order"),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			rows, err := spec.List(c.Text("data"))
			if err != nil {
				return "", err
			}
			if len(rows) == 0 {
				return "Empty array — no data to display.", nil
			}
			columns := c.Items("columns")
			if len(columns) == 0 {
				columns = firstKeys(rows)
			}
			if len(columns) == 0 {
				return "", fmt.Errorf("no columns to be found: no row is an object with keys")
			}
			if int64(len(columns))*int64(len(rows)) > maxCells {
				return "", fmt.Errorf("result too long: more than %d cells", maxCells)
			}
			return table(rows, columns, c.Text("format")), nil
		},
	}.Make()
}

// maxCells is the greatest number of cells of a table.
const maxCells = 1 << 20

func firstKeys(rows []any) []string {
	for _, row := range rows {
		if o, ok := row.(*jsontree.Object); ok && o.Len() > 0 {
			return o.Keys()
		}
	}
	return nil
}

// cellForms say how a cell and a row are written in each form.
var cellForms = map[string]struct {
	cell                   func(string) string
	before, between, after string
}{
	"markdown": {strings.NewReplacer("|", `\|`, "\r\n", " ", "\n", " ", "\r", " ").Replace, "| ", " | ", " |"},
	"csv":      {spec.CSVField, "", ",", ""},
	"tsv":      {strings.NewReplacer("\t", " ", "\r\n", " ", "\n", " ", "\r", " ").Replace, "", "\t", ""},
}

func table(rows []any, columns []string, form string) string {
	how := cellForms[form]
	var out strings.Builder
	line := func(cells []string) {
		out.WriteString(how.before + strings.Join(cells, how.between) + how.after + "\n")
	}
	cells := make([]string, len(columns))
	for i, name := range columns {
		cells[i] = how.cell(name)
	}
	line(cells)
	if form == "markdown" {
		out.WriteString(strings.Repeat("| --- ", len(columns)) + "|\n")
	}
	for _, row := range rows {
		o, _ := row.(*jsontree.Object)
		for i, name := range columns {
			cells[i] = how.cell(cellText(o, name))
		}
		line(cells)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func cellText(row *jsontree.Object, name string) string {
	if row == nil {
		return ""
	}
	value, _ := row.Get(name)
	if value == nil {
		return ""
	}
	return jsontree.Bare(value)
}

// FormatList returns the tool that writes a list as lines or as a sentence.
func FormatList() *adk.Tool {
	return spec.Tool{
		Name:        "format_list",
		Description: "Writes a list of texts as bullets, numbered or plain lines, or as a sentence with and or or.",
		Args: []spec.Arg{
			spec.TextList("items", "the texts").Required(),
			spec.Word("style", "the form of the list", "bullet", "numbered", "inline_and", "inline_or", "newline").Default("bullet"),
			spec.Number("indent", "blanks before each line, 0 to 100; taken as the nearest of these").Default(0),
		},
		Answer: func(_ context.Context, c spec.Call) (string, error) {
			items := c.Items("items")
			switch c.Text("style") {
			case "inline_and":
				return sentence(items, "and"), nil
			case "inline_or":
				return sentence(items, "or"), nil
			}
			indent := strings.Repeat(" ", int(max(0, min(100, c.Number("indent")))))
			lines := make([]string, len(items))
			for i, item := range items {
				switch c.Text("style") {
				case "bullet":
					item = "• " + item
				case "numbered":
					item = fmt.Sprintf("%d. %s", i+1, item)
				}
				lines[i] = indent + item
			}
			return strings.Join(lines, "\n"), nil
		},
	}.Make()
}

func sentence(items []string, last string) string {
	switch n := len(items); n {
	case 0:
		return ""
	case 1:
		return items[0]
	case 2:
		return items[0] + " " + last + " " + items[1]
	default:
		return strings.Join(items[:n-1], ", ") + ", " + last + " " + items[n-1]
	}
}
