package trace

import (
	"bytes"
)

// ahead are lines that were read before they are looked at, so that it is known how
// many there are. What was given out is not held any more.
type ahead struct {
	blocks [][]byte // of whole lines, but for the end of a file that was cut short
	lines  int
	size   int64 // of all of them, in bytes
	err    error // what comes behind them
}

// The sizes of blocks: most traces fit the first.
const (
	firstBlock = 4 << 10
	mostBlock  = 256 << 10
)

// add copies a line.
func (a *ahead) add(line []byte) {
	last := len(a.blocks) - 1
	if last < 0 || cap(a.blocks[last])-len(a.blocks[last]) < len(line) {
		size := firstBlock
		if last >= 0 {
			size = min(2*cap(a.blocks[last]), mostBlock)
		}
		a.blocks = append(a.blocks, make([]byte, 0, max(size, len(line))))
		last++
	}
	a.blocks[last] = append(a.blocks[last], line...)
	a.lines++
	a.size += int64(len(line))
}

// next gives the next line with its end, and at last what comes behind them.
func (a *ahead) next() ([]byte, error) {
	if len(a.blocks) == 0 {
		return nil, a.err
	}
	block := a.blocks[0]
	end := bytes.IndexByte(block, '\n') + 1
	if end == 0 {
		end = len(block)
	}
	line := block[:end]
	if a.blocks[0] = block[end:]; end == len(block) {
		a.blocks[0] = nil
		a.blocks = a.blocks[1:]
	}
	if line[end-1] != '\n' {
		return line, a.err
	}
	return line, nil
}
