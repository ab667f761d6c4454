package trace

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// This file reads and writes the first and the last line of a trace.

// writeHeader writes the first line.
func writeHeader(e *wire.Encoder, h Header) error {
	if h.Version < 1 || h.Version > FormatVersion {
		return fmt.Errorf("the header has format version %d: this package writes 1 to %d", h.Version, FormatVersion)
	}
	e.Begin(h.Extra)
	e.String(wire.MemberFormat, wire.FormatName)
	e.Int(wire.MemberVersion, int64(h.Version))
	e.Int(wire.MemberContract, int64(h.Contract))
	e.Key(wire.MemberStart)
	var err error
	if e.Out, err = wire.AppendTime(e.Out, h.Start); err != nil {
		return err
	}
	e.Key(wire.MemberSeams)
	e.Seams(&h.Info, h.SeamsExtra)
	e.Bool(wire.WordIn(h.Version, wire.MemberStandalone), h.Info.Standalone)
	e.Bool(wire.MemberBehind, h.Info.WriteBehind)
	return e.End()
}

// readHeader reads the first line. It checks the version before anything else, because it cannot
// know what another version of the format looks like.
func readHeader(d *wire.Decoder, h *Header) (err error) {
	if err := readVersion(d); err != nil {
		return err
	}
	for _, name := range []string{wire.MemberContract, wire.MemberStart, wire.MemberSeams} {
		if d.Member(name) == nil {
			return fmt.Errorf("the header has no %s", name)
		}
	}
	h.Version, _ = strconv.Atoi(string(d.Member(wire.MemberVersion)))
	d.Format = h.Version
	h.Extra, err = d.Each(h.read)
	d.Last = h.Start
	return err
}

// spansMember is the first member of OTLP JSON with spans. otherSignals are the first members of
// OTLP JSON in which other signals come before the spans, or which has no spans.
const spansMember = "resourceSpans"

var otherSignals = []string{"resourceLogs", "resourceMetrics", "resourceProfiles"}

// readVersion checks that the file is a trace of a supported version. If not, it returns a
// *FormatError without a position.
func readVersion(d *wire.Decoder) error {
	format, reason := string(d.Member(wire.MemberFormat)), ""
	switch {
	case format == strconv.Quote(wire.JournalName):
		reason = "this is a journal of sessions: adkreplay show, verify and view read it, and golden.ReplaySessions in go test"
	case format == "" && slices.ContainsFunc(otherSignals, func(name string) bool { return d.Member(name) != nil }):
		reason = "these are logs or metrics of OpenTelemetry: adkreplay view and stats read the spans in such files"
	case format == "" && d.Member(spansMember) != nil:
		reason = "these are spans of OpenTelemetry: adkreplay view and stats read them"
	case format != strconv.Quote(wire.FormatName):
		reason = fmt.Sprintf(`want a header that begins {"adkreplay":"trace","version":%d`, FormatVersion)
	}
	if reason != "" {
		return &FormatError{Fault: FaultForeign, Reason: reason}
	}
	text := string(d.Member(wire.MemberVersion))
	if version, err := strconv.Atoi(text); err != nil || version < 1 || version > FormatVersion || strconv.Itoa(version) != text {
		return &FormatError{Fault: FaultVersion, Reason: fmt.Sprintf(
			"the format's version is %s: this program reads 1 to %d; a newer adkreplay may read it", wire.Clip(text), FormatVersion)}
	}
	return nil
}

func (h *Header) read(name string, value []byte) (known bool, err error) {
	switch wire.WordOf(h.Version, name) {
	case wire.MemberFormat, wire.MemberVersion:
	case wire.MemberContract:
		if h.Contract, err = wire.IntOfJSON(value); err == nil && h.Contract < 1 {
			err = wire.ErrWant("a number from 1", value)
		}
	case wire.MemberStart:
		h.Start, err = wire.TimeOfJSON(value)
	case wire.MemberSeams:
		h.SeamsExtra, err = wire.ReadSeams(value, &h.Info)
	case wire.MemberStandalone:
		h.Info.Standalone, err = wire.BoolOfJSON(value)
	case wire.MemberBehind:
		h.Info.WriteBehind, err = wire.BoolOfJSON(value)
	default:
		return false, nil
	}
	return true, err
}

// writeFooter writes the last line: the number of crossings n, and the digest of all bytes before.
func writeFooter(e *wire.Encoder, n int, sum []byte, extra []wire.Member) error {
	e.Begin(extra)
	e.Key(wire.MemberEnd)
	e.Out = strconv.AppendInt(e.Out, int64(n), 10)
	e.Key(wire.MemberSHA256)
	e.Out = append(e.Out, '"')
	e.Out = hex.AppendEncode(e.Out, sum)
	e.Out = append(e.Out, '"')
	return e.End()
}

// readFooter reads the number of crossings and the digest from the last line.
func readFooter(d *wire.Decoder) (count int, sum []byte, extra []wire.Member, err error) {
	extra, err = d.Each(func(name string, value []byte) (bool, error) {
		switch name {
		case wire.MemberEnd:
			count, err = wire.IntOfJSON(value)
		case wire.MemberSHA256:
			sum, err = wire.HexOfJSON(value)
		default:
			return false, nil
		}
		return true, err
	})
	if err == nil && sum == nil {
		err = fmt.Errorf("the footer has no %s", wire.MemberSHA256)
	}
	return count, sum, extra, err
}
