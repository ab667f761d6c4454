package adkhttp

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/canonical"
)

// toldValues are the recorded headers or parameters, sorted by name.
type toldValues []toldValue

// toldValue is a header or a parameter with its values.
type toldValue struct {
	name   string
	values []string
}

// valuesOf returns the headers that are recorded, with names in lowercase.
func valuesOf(headers http.Header, unheld func(name string) bool) toldValues {
	told := make(toldValues, 0, len(headers))
	for name, values := range headers {
		if name = strings.ToLower(name); !unheld(name) {
			told = append(told, toldValue{name, values})
		}
	}
	told.sort()
	return told
}

// sortedValues returns all values, sorted by name.
func sortedValues(all map[string][]string) toldValues {
	told := make(toldValues, 0, len(all))
	for name, values := range all {
		told = append(told, toldValue{name, values})
	}
	told.sort()
	return told
}

func (t toldValues) sort() {
	slices.SortFunc(t, func(a, b toldValue) int { return strings.Compare(a.name, b.name) })
}

// write writes a member with the values, if there are any. A single value is a text; any other
// number of them is a list.
func (t toldValues) write(o *canonical.ObjectWriter, member string) {
	if len(t) == 0 {
		return
	}
	o.Field(member)
	inner := canonical.Open(o.Out)
	for i, one := range t {
		switch {
		case i > 0 && t[i-1].name == one.name: // another spelling of the same name
		case len(one.values) == 1:
			inner.Text(one.name, one.values[0])
		default:
			inner.Field(one.name)
			inner.Out = append(inner.Out, '[')
			for i, value := range one.values {
				if i > 0 {
					inner.Out = append(inner.Out, ',')
				}
				inner.Out = canonical.AppendString(inner.Out, value)
			}
			inner.Out = append(inner.Out, ']')
		}
	}
	o.Out = inner.Close()
}

// set replaces the value of a name. It does nothing if the name has no value or several.
func (t toldValues) set(name string, value func(string) string) {
	for i, one := range t {
		if one.name != name || len(one.values) != 1 {
			continue
		}
		if other := value(one.values[0]); other != one.values[0] {
			t[i].values = []string{other}
		}
	}
}

// oneBoundary replaces the boundary of a multipart body, which differs each time.
const oneBoundary = "boundary"

// withoutBoundary replaces the boundary of a multipart body by oneBoundary, and returns the old
// one; empty if there is none.
func (t toldValues) withoutBoundary() (boundary string) {
	t.set("content-type", func(kind string) string {
		if !strings.HasPrefix(strings.ToLower(kind), "multipart/") {
			return kind
		}
		name, with, err := mime.ParseMediaType(kind)
		if boundary = with["boundary"]; err != nil || boundary == "" {
			return kind
		}
		with["boundary"] = oneBoundary
		return mime.FormatMediaType(name, with)
	})
	return boundary
}
