package jsonindex

import (
	"strings"

	"github.com/adkreplay/adkreplay/adk/internal/jsontree"
)

// Node is a value of a document: the offset of its text.
type Node uint32

// Document is a text of strict JSON with its index: one value, or several with white space between
// them. It is immutable and safe for concurrent use.
type Document struct {
	text   string
	blocks []block
	// lows has the least depth within each block, and then, row by row, the least of each 16
	// entries of the row before.
	lows [][]uint16
}

// block describes blockSize bytes of the text. Depth is the number of open brackets.
type block struct {
	depth  uint16 // at its beginning
	inside uint8  // how many of its bytes belong to a string that began before it
}

const (
	blockSize = 128
	fanout    = 16
	never     = 1<<16 - 1 // the low of a block without a closing bracket
)

// New makes the index of a text. The text has to be strict JSON as jsontree.Check defines it, or
// the output of jsontree.Strict, or several such texts with white space between them; nested less
// than 65,535 deep, and shorter than 4 GiB.
func New(text string) *Document {
	d := &Document{text: text, blocks: make([]block, (len(text)+blockSize-1)/blockSize)}
	lows := make([]uint16, len(d.blocks))
	depth, at := 0, 0
	for i := range d.blocks {
		from := i * blockSize
		end := min(from+blockSize, len(text))
		d.blocks[i] = block{uint16(depth), uint8(min(at-from, blockSize))}
		lows[i] = never
		for at < end {
			switch text[at] {
			case '"':
				at = d.endOfString(at)
				continue
			case '[', '{':
				depth++
			case ']', '}':
				depth--
				lows[i] = min(lows[i], uint16(depth))
			}
			at++
		}
	}
	for d.lows = append(d.lows, lows); len(lows) > fanout; d.lows = append(d.lows, lows) {
		above := make([]uint16, (len(lows)+fanout-1)/fanout)
		for i := range above {
			above[i] = never
			for _, low := range lows[i*fanout : min((i+1)*fanout, len(lows))] {
				above[i] = min(above[i], low)
			}
		}
		lows = above
	}
	return d
}

// At returns the value that begins at an offset, or after the white space there.
func (d *Document) At(place int) Node { return Node(d.space(place)) }

// space returns the first offset from at on that is not white space.
func (d *Document) space(at int) int {
	for at < len(d.text) && (d.text[at] == ' ' || d.text[at] == '\n' || d.text[at] == '\t' || d.text[at] == '\r') {
		at++
	}
	return at
}

// end returns the offset behind the value that begins at an offset.
func (d *Document) end(at int) int {
	switch d.text[at] {
	case '"':
		return d.endOfString(at)
	case '[', '{':
		return d.endOfBrackets(at)
	}
	for at < len(d.text) && strings.IndexByte(",]} \n\t\r", d.text[at]) < 0 {
		at++
	}
	return at
}

// endOfString returns the offset behind the string that begins at an offset.
func (d *Document) endOfString(at int) int {
	for at++; ; at++ {
		at += strings.IndexByte(d.text[at:], '"')
		escapes := 0
		for d.text[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at + 1
		}
	}
}

// endOfBrackets returns the offset behind the list or the object that begins at an offset.
func (d *Document) endOfBrackets(at int) int {
	i := at / blockSize
	end, open := d.close(at, (i+1)*blockSize, 0)
	if open == 0 {
		return end
	}
	i++
	outside := int(d.blocks[i].depth) - open
	i = d.firstAsLow(i, uint16(outside))
	from := i * blockSize
	end, _ = d.close(from+int(d.blocks[i].inside), from+blockSize, int(d.blocks[i].depth)-outside)
	return end
}

// close goes from an offset where open brackets are open to the one behind the bracket that closes
// the last of them (left is 0), or to an offset at end or behind it.
func (d *Document) close(at, end, open int) (place, left int) {
	for end = min(end, len(d.text)); at < end; at++ {
		switch d.text[at] {
		case '"':
			at = d.endOfString(at) - 1
		case '[', '{':
			open++
		case ']', '}':
			if open--; open == 0 {
				return at + 1, 0
			}
		}
	}
	return at, open
}

// firstAsLow returns the first block from i on whose least depth is at most depth. There must be
// one.
func (d *Document) firstAsLow(i int, depth uint16) int {
	for row := 0; ; {
		switch {
		case d.lows[row][i] > depth && i%fanout == fanout-1 && row+1 < len(d.lows):
			row, i = row+1, i/fanout+1
		case d.lows[row][i] > depth:
			i++
		case row == 0:
			return i
		default:
			row, i = row-1, i*fanout
		}
	}
}

// IsList reports whether a node is a list.
func (d *Document) IsList(n Node) bool { return d.text[n] == '[' }

// IsObject reports whether a node is an object.
func (d *Document) IsObject(n Node) bool { return d.text[n] == '{' }

// IsText reports whether a node is a string.
func (d *Document) IsText(n Node) bool { return d.text[n] == '"' }

// Size returns the length of a node's text.
func (d *Document) Size(n Node) int { return d.end(int(n)) - int(n) }

// Text returns a node's text as it is in the document.
func (d *Document) Text(n Node) string { return d.text[n:d.end(int(n))] }

// Scalar returns the value of a node that is no list and no object, in the form of jsontree.
func (d *Document) Scalar(n Node) any { return jsontree.Scalar(d.Text(n)) }

// first returns the offset of the first item of a list, or of the first key of an object; ok is
// false if there is none.
func (d *Document) first(n Node) (at int, ok bool) {
	at = d.space(int(n) + 1)
	return at, d.text[at] != ']' && d.text[at] != '}'
}

// next returns the offset of the item or the key that follows the value at an offset; ok is false
// if that is the last one.
func (d *Document) next(at int) (place int, ok bool) {
	if at = d.space(d.end(at)); d.text[at] != ',' {
		return at, false
	}
	return d.space(at + 1), true
}

// valueAt returns the offset of the value whose key begins at an offset.
func (d *Document) valueAt(key int) int {
	return d.space(d.space(d.endOfString(key)) + 1)
}
