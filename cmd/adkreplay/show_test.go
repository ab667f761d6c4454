package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParseShow(t *testing.T) {
	o, err := parseShow([]string{"a"})
	assert.NoError(t, err)
	assert.Equal(t, showOptions{path: "a"}, o)
	_, err = parseShow(nil)
	assert.EqualError(t, err, "show takes one file, and got 0")
	_, err = parseShow([]string{"a", "b"})
	assert.EqualError(t, err, "show takes one file, and got 2")
}

// Of a trace that breaks off there is what there is, where it ends, and why it
// failed.
func TestShowATruncatedTrace(t *testing.T) {
	path := truncated(t)
	assert.Equal(t, outcome{
		exitUnreadable,
		helloTranscript + "!! ends here, within run turn-input/hydrate\n",
		"adkreplay: " + path + ":11: truncated trace: the file ends without a footer: it was cut short, or is still being written\n",
	}, adkreplay("show", path))
}

func TestShowWhatIsNoTrace(t *testing.T) {
	path := put(t, "notes.txt", []byte("hello\n"))
	assert.Equal(t, outcome{
		exitUnreadable, "",
		"adkreplay: " + path + ":1: malformed trace: column 1: want an object, found 'h'\n",
	}, adkreplay("show", path))
}

func TestShowAMalformedTrace(t *testing.T) {
	path := malformed(t)
	got := adkreplay("show", path)
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.out, "turn-input/hydrate\n", "what stands before the bad line is shown")
	assert.Equal(t, "adkreplay: "+path+`:9: malformed trace: there is no kind "subtract"`+"\n", got.err)
}
