package house_test

import (
	"go/scanner"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
)

// mostLines is the largest number of lines of code in a package, so that a reader can
// keep all of it in mind.
const mostLines = 6000

// No package is larger than a reader can keep in mind.
func TestPackagesAreSmall(t *testing.T) {
	lines := map[string]int{}
	for _, f := range productionFiles(t) {
		lines[f.dir] += codeLines(f)
	}
	for dir, n := range lines {
		assert.LessOrEqual(t, n, mostLines, "%s has %d lines of code: give a part of it a room of its own", dir, n)
	}
}

// codeLines returns the number of lines with a token on them, not counting comments.
func codeLines(f *source) int {
	files := token.NewFileSet()
	file := files.AddFile(f.path, -1, len(f.content))
	var s scanner.Scanner
	s.Init(file, f.content, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, _ := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		lines[file.Line(pos)] = true
	}
}

func TestCodeLines(t *testing.T) {
	f := parsed(t, "x/x.go", []byte("// Package x.\npackage x\n\nfunc f() { // starts\n\t/* nothing */\n\tg()\n}\n"))
	assert.Equal(t, 4, codeLines(f))
}
