package fakes

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// The values below are those that storages have been known to damage: the nanoseconds and the zone
// of a time, digits of a number, the order of keys, and bytes that end a text.

var (
	edgyTime = time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.FixedZone("NPT", 5*3600+45*60))
	edgyText = "a\x00b\r\n\u2028'\"\\%_🎉\ufffd" + strings.Repeat("世", 1000)
	// edgyPlain holds plain data of every kind.
	edgyPlain = map[string]any{
		"z": 1, "a": int64(math.MaxInt64), "m": uint64(math.MaxUint64), "f": 0.1, "whole": 5.0, "inf": math.Inf(-1), "nan": math.NaN(), "f32": float32(0.1),
		"bytes": []byte{0, 255}, "raw": json.RawMessage(`{"b":1,"a":1.50}`), "time": edgyTime.UTC(), "for": 1500 * time.Millisecond,
		"list": []any{nil, true, "x", []string{"a"}, map[string]int{"n": 1}}, "$odd": map[string]any{"$map": 1}, "": "empty", "a.b": "dot", "text": edgyText,
	}
)

func edgyMedia(id string) (*adk.Media, error) {
	return adk.NewMedia(adk.MediaInit{ID: id, Kind: adk.MediaImage, MIMEType: "image/png", Filename: "a\x00'%.png", Reader: adk.MediaBytes([]byte{0, 1}),
		TrustTier: adk.TrustThirdPartyPublic, ModalityHazard: adk.HazardOpaquePerceptual, Source: "https://example.org/?a=%00",
		Stash: map[string]adk.MediaStashEntry{"caption": {Value: edgyPlain, TrustTier: adk.TrustFirstParty, DerivedFrom: "other"}}})
}

// edgyMedias makes three media.
func edgyMedias() (all adk.MediaList, err error) {
	for _, id := range []string{"one", "two", edgyText} {
		media, err := edgyMedia(id)
		if err != nil {
			return nil, err
		}
		all = append(all, media)
	}
	return all, nil
}

// makeAll makes a record from each init.
func makeAll[I any, T adk.Record](construct func(I) (T, error), inits ...I) (all []T, err error) {
	for _, init := range inits {
		record, err := construct(init)
		if err != nil {
			return nil, err
		}
		all = append(all, record)
	}
	return all, nil
}
