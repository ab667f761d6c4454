package fakes

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/adkreplay/adkreplay/adk"
)

// Records of which storages have been known to lose something: the nanoseconds and the
// zone of a time, digits of a number, the order of keys, bytes that end texts.

var (
	edgyTime = time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.FixedZone("NPT", 5*3600+45*60))
	edgyText = "a\x00b\r\n\u2028'\"\\%_🎉\ufffd" + strings.Repeat("世", 1000)
	// edgyPlain is plain data of every kind.
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

// edgyMedias are three media.
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

// makeAll makes a record of each init.
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

func edgyMessages() ([]*adk.Message, error) {
	medias, err := edgyMedias()
	if err != nil {
		return nil, err
	}
	speaker, err := adk.NewIdentity(int64(1)<<53+1, edgyText)
	if err != nil {
		return nil, err
	}
	return makeAll(adk.NewMessage,
		adk.MessageInit{ID: "text", Role: adk.RoleUser, Content: edgyText, Identity: speaker, CreatedAt: edgyTime, UpdatedAt: edgyTime.Add(1)},
		adk.MessageInit{ID: "media", Role: adk.RoleAssistant, Attachments: medias, CreatedAt: time.Unix(-1, 1), UpdatedAt: edgyTime},
		adk.MessageInit{ID: "long", Role: adk.RoleUser, Content: strings.Repeat("\x00🎉", 13_000), CreatedAt: Epoch, UpdatedAt: Epoch})
}

func edgyMemories() ([]*adk.Memory, error) {
	return makeAll(adk.NewMemory,
		adk.MemoryInit{ID: "small", Content: edgyText, Confidence: new(math.SmallestNonzeroFloat64), Importance: new(1.0), CreatedAt: edgyTime, UpdatedAt: edgyTime},
		adk.MemoryInit{ID: "odd", Content: " ", Confidence: new(0.1 + 0.2), Importance: new(0.0), CreatedAt: edgyTime, UpdatedAt: edgyTime})
}

func edgyRetrievables() ([]*adk.Retrievable, error) {
	return makeAll(adk.NewRetrievable,
		adk.RetrievableInit{ID: "all", Content: edgyText, TrustTier: adk.TrustThirdPartyPrivate, Source: edgyText, Kind: edgyText, Score: new(0.1 + 0.2), CreatedAt: edgyTime, UpdatedAt: edgyTime},
		adk.RetrievableInit{ID: "bare", Content: "x", TrustTier: adk.TrustFirstParty, CreatedAt: edgyTime, UpdatedAt: edgyTime})
}

func edgyThoughts() ([]*adk.Thought, error) {
	return makeAll(adk.NewThought,
		adk.ThoughtInit{ID: "payload", Payload: edgyPlain, ReplayCompatibility: "edge/1", CreatedAt: edgyTime, UpdatedAt: edgyTime},
		adk.ThoughtInit{ID: "list", Content: edgyText, Payload: []any{edgyPlain, nil}, ReplayCompatibility: edgyText, CreatedAt: edgyTime, UpdatedAt: edgyTime})
}

func edgyToolCalls() ([]*adk.ToolCall, error) {
	medias, err := edgyMedias()
	if err != nil {
		return nil, err
	}
	call := func(id string, results adk.ToolResult, args string) adk.ToolCallInit {
		return adk.ToolCallInit{ID: id, Tool: "sample", Args: args, Results: results, CreatedAt: edgyTime, UpdatedAt: edgyTime, CompletedAt: edgyTime.Add(-time.Hour)}
	}
	failed := call("failed", adk.Text(edgyText), `{"z":9007199254740993,"a":1.50,"m":1e300,"":null,"n":{"b":[],"a":{}}}`)
	failed.IsError, failed.Inline, failed.FromArtifactTool = true, new(false), true
	return makeAll(adk.NewToolCall, failed, call("media", medias[0], `{}`), call("medias", medias, `{"n":-0.0}`), call("nothing", adk.Text(""), `{}`))
}

func edgyInstructions() ([]*adk.Tokenizable, error) {
	return []*adk.Tokenizable{adk.NewTokenizable(edgyText), adk.NewTokenizable(" "), adk.NewTokenizable("null")}, nil
}
