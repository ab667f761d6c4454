package fields_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/fields"
)

// RUN-3: each entry of a pipeline needs a unique name and a function to run.
func TestSteps(t *testing.T) {
	type step struct {
		name string
		run  func()
	}
	run := func() {}
	var c fields.Check
	fields.Steps(&c, "Input", []step{{"a", run}, {"", nil}, {"b", nil}, {"a", run}}, func(s step) (string, bool) { return s.name, s.run == nil })
	assert.Equal(t, []fields.Fault{
		{Path: "Input[1].Run", Message: "is missing"},
		{Path: "Input[1].Name", Message: "is empty: every middleware has a name"},
		{Path: "Input[2].Run", Message: "is missing"},
		{Path: "Input[3].Name", Message: `"a" is the name of Input[0] too: names are unique in a pipeline`},
	}, c.Faults())
}

// RUN-4: a key may occur once. The fault of an entry itself is reported before a repeated key.
func TestEachOnce(t *testing.T) {
	var c fields.Check
	fields.EachOnce(&c, "Words", []string{"a", "", "b", "", "a", "a"}, func(word string) (key, fault string) {
		if word == "" {
			return "", "is empty"
		}
		return word, ""
	}, "%[1]q stands in %[2]s[%[3]d]")
	assert.Equal(t, []fields.Fault{
		{Path: "Words[1]", Message: "is empty"}, {Path: "Words[3]", Message: "is empty"},
		{Path: "Words[4]", Message: `"a" stands in Words[0]`}, {Path: "Words[5]", Message: `"a" stands in Words[0]`},
	}, c.Faults())
}

// RUN-2: a required value has to be set. A nil pointer in an interface is not a value, and does
// not select the default either.
func TestNil(t *testing.T) {
	var (
		c       fields.Check
		nothing *fields.Check
		boxed   fmt.Stringer
	)
	c.TypedNil("none", nil)
	c.TypedNil("pointer", nothing)
	c.TypedNil("value", 1)
	c.NoneNil("Bag", struct {
		Full, Empty []int
		Number      int
		Boxed       fmt.Stringer
	}{Full: []int{}}, "bring your own")
	assert.Equal(t, []fields.Fault{
		{Path: "pointer", Message: "is a nil *fields.Check"},
		{Path: "Bag.Empty", Message: "is missing: bring your own"}, {Path: "Bag.Boxed", Message: "is missing: bring your own"},
	}, c.Faults())
	assert.True(t, fields.IsNil(reflect.ValueOf(nil)))
	assert.True(t, fields.IsNil(reflect.ValueOf(&boxed).Elem()))
	assert.False(t, fields.IsNil(reflect.ValueOf(0)))
}

// PRM-8: a MIME type has a type and a subtype.
func TestMIMEType(t *testing.T) {
	for text, want := range map[string]string{
		"image/png": "", "text/plain; charset=utf-8": "",
		"":    "is missing, want a MIME type such as image/png",
		"png": `is "png", want a MIME type such as image/png`, "a b/c": `is "a b/c", want a MIME type such as image/png`,
	} {
		var c fields.Check
		c.MIMEType("type", text)
		if want == "" {
			assert.Nil(t, c.Faults(), text)
		} else {
			assert.Equal(t, []fields.Fault{{Path: "type", Message: want}}, c.Faults())
		}
	}
}
