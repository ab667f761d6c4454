package trace

import (
	"bytes"
)

// ahead holds lines that were read but not yet decoded, so that their number is known. It releases
// each line when next returns it.
type ahead struct {
	blocks [][]byte // of whole lines, except at the end of a file that was cut short
	lines  int
	size   int64 // of all lines, in bytes
	err    error // returned after the last line
}

// The sizes of blocks. Most traces fit into the first block.
const (
	firstBlock = 4 << 10
	mostBlock  = 256 << 10
)

// add appends a copy of the line.
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

// next returns the next line with its line end, and err after the last one.
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
