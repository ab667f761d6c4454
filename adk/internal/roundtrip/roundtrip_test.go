package roundtrip_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/roundtrip"
)

type inner struct {
	Text string
}

type node struct {
	Next *node
	List []node `json:"list,omitempty"`
}

type secretive struct {
	Name string
	raw  string
}

type ignoring struct {
	Name string
	Meta struct{ Raw string } `json:"-"`
}

type dashed struct {
	Dash string `json:"-,"`
}

type embedding struct {
	inner
	*dashed2
	Other int
}

type dashed2 struct{ Deep func() }

type promoted struct {
	inner
	_ [0]func()
	_ int
}

type speaking struct{ Text string }

func (speaking) MarshalJSON() ([]byte, error) { return []byte(`"x"`), nil }

func (s secretive) String() string { return s.raw }

// A type is refused for what JSON would lose of its values, with the member's name.
// hinting marshals itself, into JSON that is read back as the same value.
type hinting struct {
	Title string          `json:"title,omitempty"`
	Open  *bool           `json:"open,omitempty"`
	Raw   json.RawMessage `json:"raw,omitempty"`
	Since time.Time       `json:"since"`
	Marks map[string][2]int
	Below []*hinting
	Any   any
}

func (h hinting) MarshalJSON() ([]byte, error) {
	type plain hinting
	return json.Marshal(plain(h))
}

// forgetful leaves a member out of its JSON.
type forgetful struct{ Kept, Left float32 }

func (f forgetful) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any{"Kept": f.Kept}) }

// hiding has a field that is not exported, so that JSON cannot set it.
type hiding struct {
	Text string
	left int
}

func (h hiding) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any{"Text": h.Text}) }

func (h hiding) String() string { return fmt.Sprint(h.left) }

// picky panics when it is written as JSON.
type picky struct{ Count uint8 }

func (p picky) MarshalJSON() ([]byte, error) { panic("no such count") }

func TestFault(t *testing.T) {
	cases := []struct {
		of   any
		want string
	}{
		{"", ""},
		{0.5, ""},
		{[]byte("x"), ""},
		{map[string]any{}, ""},
		{map[int][]inner{}, ""},
		{time.Time{}, ""},
		{&big.Int{}, ""},
		{json.RawMessage{}, ""},
		{node{}, ""},
		{promoted{}, ""},
		{dashed{}, ""},
		{struct{}{}, ""},
		{secretive{}, "raw is not exported, and so not in the JSON"},
		{[]map[string]secretive{}, "[][].raw is not exported, and so not in the JSON"},
		{ignoring{}, "Meta is left out of the JSON"},
		{embedding{}, "dashed2 is not exported, and so not in the JSON"},
		{hinting{}, ""},
		{[]*hinting{}, ""},
		{forgetful{}, "is a roundtrip_test.forgetful, which writes its JSON itself and cannot read it"},
		{hiding{}, "is a roundtrip_test.hiding, which writes its JSON itself and cannot read it"},
		{picky{}, "is a roundtrip_test.picky, which writes its JSON itself and cannot read it"},
		{speaking{}, "is a roundtrip_test.speaking, which writes its JSON itself and cannot read it"},
		{struct{ Err error }{}, "Err is a error: JSON does not say of which type its value was"},
		{struct{ C chan int }{}, "C is a chan, which JSON does not have"},
		{struct{ F []func() }{}, "F[] is a func, which JSON does not have"},
		{complex(1, 1), "is a complex128, which JSON does not have"},
		{map[inner]int{}, "has keys of type roundtrip_test.inner, which JSON does not have"},
	}
	for _, c := range cases {
		for range 2 { // the second time from the cache
			assert.Equal(t, c.want, roundtrip.Fault(reflect.TypeOf(c.of)), "%T", c.of)
		}
	}
	assert.Equal(t, "has no type", roundtrip.Fault(nil))
	assert.Equal(t, "", roundtrip.Fault(reflect.TypeFor[any]()))
}

// A type that only has to be held is refused for what is missing from its JSON, and for nothing else.
func TestUnheld(t *testing.T) {
	for _, held := range []any{struct{ Err fmt.Stringer }{}, speaking{}, forgetful{}, hiding{}, "", []*hinting{}} {
		assert.Empty(t, roundtrip.Unheld(reflect.TypeOf(held)), "%T", held)
	}
	assert.Equal(t, "raw is not exported, and so not in the JSON", roundtrip.Unheld(reflect.TypeFor[secretive]()))
	assert.Equal(t, "C is a chan, which JSON does not have", roundtrip.Unheld(reflect.TypeFor[struct{ C chan int }]()))
}

// WLD-2: a request has to be held and an answer given back. The fault names the one that is not.
func TestFaultOfAsk(t *testing.T) {
	type held struct{ Any interface{ Say() } } // an interface, which JSON does not give back
	type lost struct{ Call func() }
	assert.Empty(t, roundtrip.FaultOfAsk(reflect.TypeFor[held](), reflect.TypeFor[string]()))
	assert.Equal(t, "the request is a roundtrip_test.lost, which JSON does not hold: Call is a func, which JSON does not have",
		roundtrip.FaultOfAsk(reflect.TypeFor[lost](), reflect.TypeFor[string]()))
	both := roundtrip.FaultOfAsk(reflect.TypeFor[lost](), reflect.TypeFor[held]())
	assert.Contains(t, both, "the request is a roundtrip_test.lost")
	assert.Contains(t, both, "; the answer is a roundtrip_test.held, which JSON does not give back: Any is")
}
