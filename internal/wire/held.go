package wire

import (
	"encoding/binary"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// Held holds all crossings of a trace in little memory. For each line it stores what every line has
// and only those fields that are not zero; plain data is stored as its JSON text. A Crossing has
// room for the fields of all kinds, so Into builds it only when the caller asks.
type Held struct {
	lines   []heldLine
	texts   column[string]
	numbers column[int64]
	objects column[any]
}

// heldLine is what every line has, and where in the columns its fields begin.
type heldLine struct {
	at               time.Time
	call, strand, op int
	kind             adk.Kind
	phase            adk.Phase
	said             uint16 // a bit for each field of its kind and phase, in their order, and the bit foreign
	begin            heldPlace
}

// foreign is the bit of a line that has unknown members.
const foreign = 15

// heldPlace is an index into each of the columns.
type heldPlace struct{ text, number, object uint32 }

// NewHeld returns a Held with room for the given number of lines; it may hold more.
func NewHeld(lines int) *Held { return &Held{lines: make([]heldLine, 0, lines)} }

// Len returns the number of lines.
func (h *Held) Len() int { return len(h.lines) }

// Add appends the crossing that d has just read, and its unknown members. The crossing's number is
// its position.
func (h *Held) Add(d *Decoder, x *adk.Crossing, extra []Member) {
	held := heldLine{at: x.At, call: x.Call, strand: x.Strand, op: x.Op, kind: x.Kind, phase: x.Phase,
		begin: heldPlace{uint32(h.texts.n), uint32(h.numbers.n), uint32(h.objects.n)}}
	for i, use := range x.Kind.Fields(x.Phase) {
		if FieldRows[use.Field].Hold.put(h, line{d, use.Label}, x) {
			held.said |= 1 << i
		}
	}
	if len(extra) > 0 {
		h.texts.add(packed(extra))
		held.said |= 1 << foreign
	}
	h.lines = append(h.lines, held)
}

// Into rebuilds the n-th crossing, counted from 0, in x, which must be zero. It returns the unknown
// members of the line.
func (h *Held) Into(n int, x *adk.Crossing) (extra []Member) {
	line := &h.lines[n]
	x.Seq, x.At, x.Kind, x.Phase = n+1, line.at, line.kind, line.phase
	x.Call, x.Strand, x.Op = line.call, line.strand, line.op
	from := line.begin
	for i, use := range line.kind.Fields(line.phase) {
		if line.said&(1<<i) != 0 {
			from = FieldRows[use.Field].Hold.take(h, from, x)
		}
	}
	if line.said&(1<<foreign) != 0 {
		extra = unpackedMembers(h.texts.at(from.text))
	}
	return extra
}

// column is a list that grows without copying, except for its first block.
type column[T any] struct {
	blocks [][]T
	n      int
}

const columnBlock = 1024

func (c *column[T]) add(value T) {
	if c.n%columnBlock == 0 {
		var block []T
		if c.n > 0 {
			block = make([]T, 0, columnBlock)
		}
		c.blocks = append(c.blocks, block)
	}
	last := &c.blocks[len(c.blocks)-1]
	*last = append(*last, value)
	c.n++
}

func (c *column[T]) at(n uint32) T { return c.blocks[n/columnBlock][n%columnBlock] }

// line is the decoder that has just read a line, and the label of the field to hold.
type line struct {
	*Decoder
	label string
}

// holding is how a field is held.
type holding struct {
	// put stores the field, and reports whether it was not zero.
	put func(h *Held, from line, x *adk.Crossing) bool
	// take rebuilds the field from the values at a place and returns the place after them. The
	// place is passed by value, since a pointer to it would cost an allocation for each crossing.
	take func(h *Held, from heldPlace, x *adk.Crossing) heldPlace
}

func heldText[T ~string](of func(*adk.Crossing) *T) holding {
	return holding{
		put: func(h *Held, _ line, x *adk.Crossing) bool {
			text := *of(x)
			if text != "" {
				h.texts.add(string(text))
			}
			return text != ""
		},
		take: func(h *Held, from heldPlace, x *adk.Crossing) heldPlace {
			*of(x) = T(h.texts.at(from.text))
			from.text++
			return from
		},
	}
}

func heldNumber[T ~int | ~int64](of func(*adk.Crossing) *T) holding {
	return holding{
		put: func(h *Held, _ line, x *adk.Crossing) bool {
			n := *of(x)
			if n != 0 {
				h.numbers.add(int64(n))
			}
			return n != 0
		},
		take: func(h *Held, from heldPlace, x *adk.Crossing) heldPlace {
			*of(x) = T(h.numbers.at(from.number))
			from.number++
			return from
		},
	}
}

// heldFlag stores nothing in the columns: the bit of the field in heldLine is its value.
func heldFlag(of func(*adk.Crossing) *bool) holding {
	return holding{
		put: func(_ *Held, _ line, x *adk.Crossing) bool { return *of(x) },
		take: func(_ *Held, from heldPlace, x *adk.Crossing) heldPlace {
			*of(x) = true
			return from
		},
	}
}

// heldObject holds fields that are large or rare. some reports whether a value is not zero.
func heldObject[T any](of func(*adk.Crossing) *T, some func(T) bool) holding {
	return holding{
		put: func(h *Held, _ line, x *adk.Crossing) bool {
			value := *of(x)
			if !some(value) {
				return false
			}
			h.objects.add(value)
			return true
		},
		take: func(h *Held, from heldPlace, x *adk.Crossing) heldPlace {
			*of(x) = h.objects.at(from.object).(T)
			from.object++
			return from
		},
	}
}

func heldList[T ~[]E, E any](of func(*adk.Crossing) *T) holding {
	return heldObject(of, func(list T) bool { return list != nil })
}

// heldSome holds fields of an interface type.
func heldSome[T any](of func(*adk.Crossing) *T) holding {
	return heldObject(of, func(value T) bool { return any(value) != nil })
}

// heldData holds plain data as its text, because the data takes many times as much memory. Parsing
// the text again gives the value that was read. Data with marks is held as the value instead, since
// a mark may refer to something that only the decoder of the trace knows.
func heldData(of func(*adk.Crossing) *any, parse func(*Decoder, []byte) (any, error)) holding {
	return holding{
		put: func(h *Held, from line, x *adk.Crossing) bool {
			value := *of(x)
			switch value.(type) {
			case nil:
				return false
			case map[string]any, []any:
				if !from.hasMarks {
					value = dataText(from.Member(from.label))
				}
			}
			h.objects.add(value)
			return true
		},
		take: func(h *Held, from heldPlace, x *adk.Crossing) heldPlace {
			value := h.objects.at(from.object)
			if text, ok := value.(dataText); ok {
				value, _ = parse(new(Decoder), []byte(text)) // cannot fail: the decoder parsed it before
			}
			*of(x) = value
			from.object++
			return from
		},
	}
}

// dataText is plain data as the JSON text of its line.
type dataText string

// heldSeam holds the label, the name and the iteration of a seam.
var heldSeam = holding{
	put: func(h *Held, _ line, x *adk.Crossing) bool {
		if x.Seam == (adk.Seam{}) {
			return false
		}
		h.texts.add(x.Seam.Label)
		h.texts.add(x.Seam.Name)
		h.numbers.add(int64(x.Seam.Iteration))
		return true
	},
	take: func(h *Held, from heldPlace, x *adk.Crossing) heldPlace {
		x.Seam = adk.Seam{Label: h.texts.at(from.text), Name: h.texts.at(from.text + 1), Iteration: int(h.numbers.at(from.number))}
		from.text, from.number = from.text+2, from.number+1
		return from
	},
}

// packed encodes members as one text, in which each part follows its length.
func packed(members []Member) string {
	var text []byte
	for _, m := range members {
		for _, part := range []string{m.Name, string(m.Value), m.Before} {
			text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
		}
	}
	return string(text)
}

// unpackedMembers returns the members that were given to packed.
func unpackedMembers(text string) (members []Member) {
	part := func() (part string) {
		n, width := binary.Uvarint([]byte(text[:min(len(text), binary.MaxVarintLen64)]))
		part, text = text[width:width+int(n)], text[width+int(n):]
		return part
	}
	for text != "" {
		members = append(members, Member{Name: part(), Value: []byte(part()), Before: part()})
	}
	return members
}
