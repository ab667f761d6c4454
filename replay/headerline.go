package replay

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

// This file is the first line of a trace and its last.

// writeHeader writes the first line.
func writeHeader(e *encoder, h Header) error {
	if h.Version < 1 || h.Version > FormatVersion {
		return fmt.Errorf("the header has format version %d: this package writes 1 to %d", h.Version, FormatVersion)
	}
	e.begin(h.Extra)
	e.string(memberFormat, formatName)
	e.int(memberVersion, h.Version)
	e.int(memberContract, h.Contract)
	e.key(memberStart)
	var err error
	if e.out, err = appendTime(e.out, h.Start); err != nil {
		return err
	}
	e.key(memberSeams)
	e.seams(&h.Info, h.seamsExtra)
	e.bool(memberAlone, h.Info.Alone)
	e.bool(memberBehind, h.Info.WriteBehind)
	return e.end()
}

// readHeader reads the first line. What another version of the format is like
// nobody knows here, so the version is looked at before anything else.
func readHeader(d *decoder, h *Header) (err error) {
	if err := readVersion(d); err != nil {
		return err
	}
	for _, name := range []string{memberContract, memberStart, memberSeams} {
		if d.member(name) == nil {
			return fmt.Errorf("the header has no %s", name)
		}
	}
	h.Version, _ = strconv.Atoi(string(d.member(memberVersion)))
	d.format = h.Version
	h.Extra, err = d.each(h.read)
	d.last = h.Start
	return err
}

// errVersion marks a file of another format, or of another version of it.
var errVersion = errors.New("the version is another")

func readVersion(d *decoder) error {
	if format := d.member(memberFormat); string(format) != strconv.Quote(formatName) {
		return fmt.Errorf(`%w: this is no trace: want a header that begins {"adkreplay":"trace","version":%d`, errVersion, FormatVersion)
	}
	text := string(d.member(memberVersion))
	if version, err := strconv.Atoi(text); err != nil || version < 1 || version > FormatVersion || strconv.Itoa(version) != text {
		return fmt.Errorf("%w: the format's version is %s: this program reads 1 to %d; a newer adkreplay may read it",
			errVersion, clip(text), FormatVersion)
	}
	return nil
}

func (h *Header) read(name string, value []byte) (known bool, err error) {
	switch name {
	case memberFormat, memberVersion:
	case memberContract:
		if h.Contract, err = intOfJSON(value); err == nil && h.Contract < 1 {
			err = errWant("a number from 1", value)
		}
	case memberStart:
		h.Start, err = timeOfJSON(value)
	case memberSeams:
		h.seamsExtra, err = readSeams(value, &h.Info)
	case memberAlone:
		h.Info.Alone, err = boolOfJSON(value)
	case memberBehind:
		h.Info.WriteBehind, err = boolOfJSON(value)
	default:
		return false, nil
	}
	return true, err
}

// writeFooter writes the last line, over n crossings and the digest of all before.
func writeFooter(e *encoder, n int, sum []byte, extra []Member) error {
	e.begin(extra)
	e.key(memberEnd)
	e.out = strconv.AppendInt(e.out, int64(n), 10)
	e.key(memberSHA256)
	e.out = append(e.out, '"')
	e.out = hex.AppendEncode(e.out, sum)
	e.out = append(e.out, '"')
	return e.end()
}

// readFooter reads the last line: how many crossings, and the digest.
func readFooter(d *decoder) (count int, sum []byte, extra []Member, err error) {
	extra, err = d.each(func(name string, value []byte) (bool, error) {
		switch name {
		case memberEnd:
			count, err = intOfJSON(value)
		case memberSHA256:
			sum, err = hexOfJSON(value)
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && sum == nil {
		err = fmt.Errorf("the footer has no %s", memberSHA256)
	}
	return count, sum, extra, err
}
