package adk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/adkreplay/adkreplay/internal/draws" // the same on every run
)

var (
	primitiveBegan = time.Date(2024, 5, 6, 7, 8, 9, 10, time.FixedZone("east", 2*3600))
	primitiveEnded = primitiveBegan.Add(time.Second)
)

func someMedia(t require.TestingT) *Media {
	media, err := NewMedia(MediaInit{
		ID: "pic", Kind: MediaImage, MIMEType: "image/png", Filename: "a.png", Reader: MediaBytes([]byte{1, 2, 3}),
		TrustTier: TrustThirdPartyPublic, ModalityHazard: HazardOpaquePerceptual, Source: "https://example.org/a.png",
		Stash: map[string]MediaStashEntry{
			"text:caption": {Value: "a cat", TrustTier: TrustThirdPartyPublic, DerivedFrom: "pic"},
			"size":         {Value: map[string]any{"w": int64(3)}, TrustTier: TrustFirstParty},
		},
	})
	require.NoError(t, err)
	return media
}

// refuses checks the whole text of a constructor's error.
func refuses(t *testing.T, err error, code Code, message string) {
	t.Helper()
	require.ErrorIs(t, err, code)
	var typed *Error
	require.ErrorAs(t, err, &typed)
	assert.Equal(t, message, typed.Message)
}

// PRM-2
func TestIdentity(t *testing.T) {
	number, err := NewIdentity(uint16(7), "Ada")
	require.NoError(t, err)
	assert.Equal(t, int64(7), number.Identifier())
	assert.Equal(t, "Ada", number.Representation().String())

	same := IdentityOf("Ada")
	assert.Equal(t, "Ada", same.Identifier())
	assert.Equal(t, "Ada", same.Representation().String())
	assert.True(t, IdentityOf("").IsZero())

	text, err := json.Marshal([]Identity{number, same, {}})
	require.NoError(t, err)
	assert.Equal(t, `[{"identifier":7,"representation":"Ada"},{"identifier":"Ada","representation":"Ada"},null]`, string(text))

	_, err = NewIdentity("", "")
	refuses(t, err, E_INVALID_INITIAL_IDENTITY_VALUE,
		"identifier: is missing, want a text or an integer; representation: is missing, want the name that a model reads")
	for want, identifier := range map[string]any{
		"is missing": nil, "float64": 1.5, "beyond int64": uint64(math.MaxUint64), "not valid UTF-8 from byte 1": "a\xff",
	} {
		_, err = NewIdentity(identifier, "x")
		assert.ErrorContains(t, err, want)
	}
}

// PRM-3
func TestMessage(t *testing.T) {
	media := someMedia(t)
	m, err := NewMessage(MessageInit{
		ID: "m", Role: RoleUser, Content: "hi", Attachments: []*Media{media}, CreatedAt: primitiveBegan, UpdatedAt: primitiveEnded,
	})
	require.NoError(t, err)
	assert.Equal(t, "user", m.Identity().Identifier())
	assert.Equal(t, "user", m.Identity().Representation().String())
	assert.Equal(t, time.UTC, m.CreatedAt().Location())
	assert.True(t, m.CreatedAt().Equal(primitiveBegan))
	m.Attachments()[0] = nil
	assert.Same(t, media, m.Attachments()[0])

	// PRM-3: attachments alone are enough.
	alone, err := NewMessage(MessageInit{
		ID: "m", Role: RoleAssistant, Attachments: []*Media{media}, Identity: IdentityOf("bot"), CreatedAt: primitiveBegan, UpdatedAt: primitiveBegan,
	})
	require.NoError(t, err)
	assert.Nil(t, alone.Content())
	assert.Equal(t, "bot", alone.Identity().Identifier())

	_, err = NewMessage(MessageInit{ID: "m", Role: RoleUser, Attachments: []*Media{}, CreatedAt: primitiveBegan, UpdatedAt: primitiveBegan})
	refuses(t, err, E_INVALID_INITIAL_MESSAGE_VALUE, "content: is missing and so are attachments, want one of them or both")
	_, err = NewMessage(MessageInit{Role: "system", CreatedAt: primitiveEnded, UpdatedAt: primitiveBegan})
	refuses(t, err, E_INVALID_INITIAL_MESSAGE_VALUE, `id: is missing, want the id that the caller gives the message; `+
		`role: is "system", want user or assistant; content: is missing and so are attachments, want one of them or both; `+
		`updatedAt: is before createdAt, want the same time or a later one`)
	_, err = NewMessage(MessageInit{ID: "m", Content: "a\xffb", Attachments: []*Media{nil}, Identity: IdentityOf("\xff")})
	refuses(t, err, E_INVALID_INITIAL_MESSAGE_VALUE, `role: is missing, want user or assistant; `+
		`content: is not valid UTF-8 from byte 1 on, want valid UTF-8; attachments[0]: is nil, want a media; `+
		`identity.identifier: is not valid UTF-8 from byte 0 on, want valid UTF-8; `+
		`identity.representation: is not valid UTF-8 from byte 0 on, want valid UTF-8; `+
		`createdAt: is missing, want a time; updatedAt: is missing, want a time`)
}

// PRM-4
func TestMemory(t *testing.T) {
	init := MemoryInit{ID: "m", Content: "x", Confidence: new(0.0), Importance: new(1.0), CreatedAt: primitiveBegan, UpdatedAt: primitiveBegan}
	m, err := NewMemory(init)
	require.NoError(t, err)
	assert.Equal(t, 0.0, m.Confidence())
	assert.Equal(t, 1.0, m.Importance())

	init.Confidence, init.Importance = nil, new(math.NaN())
	_, err = NewMemory(init)
	refuses(t, err, E_INVALID_INITIAL_MEMORY_VALUE,
		"confidence: is missing, want a number within [0,1]; importance: is NaN, want a number within [0,1]")
	init.Confidence, init.Importance = new(1.1), new(-0.1)
	_, err = NewMemory(init)
	refuses(t, err, E_INVALID_INITIAL_MEMORY_VALUE,
		"confidence: is 1.1, want a number within [0,1]; importance: is -0.1, want a number within [0,1]")
}

// PRM-5
func TestRetrievable(t *testing.T) {
	init := RetrievableInit{ID: "r", Content: "x", TrustTier: TrustFirstParty, CreatedAt: primitiveBegan, UpdatedAt: primitiveBegan}
	r, err := NewRetrievable(init)
	require.NoError(t, err)
	_, given := r.Score()
	assert.False(t, given)

	init.Score = new(0.5)
	r, err = NewRetrievable(init)
	require.NoError(t, err)
	*init.Score = 2
	score, given := r.Score()
	assert.True(t, given)
	assert.Equal(t, 0.5, score)

	init.TrustTier = "unknown"
	_, err = NewRetrievable(init)
	refuses(t, err, E_INVALID_INITIAL_RETRIEVABLE_VALUE,
		`trustTier: is "unknown", want first-party, third-party-public or third-party-private; score: is 2, want a number within [0,1]`)
}

// PRM-6
func TestThought(t *testing.T) {
	init := ThoughtInit{ID: "t", Content: "hm", ReplayCompatibility: "v1", CreatedAt: primitiveBegan, UpdatedAt: primitiveBegan}
	thought, err := NewThought(init) // a tag without a payload
	require.NoError(t, err)
	assert.Equal(t, "assistant", thought.Identity().Identifier())
	assert.Nil(t, thought.Payload())

	payload := map[string]any{"signature": []byte{1}}
	init.Payload = payload
	thought, err = NewThought(init)
	require.NoError(t, err)
	payload["signature"] = "changed"
	thought.Payload().(map[string]any)["signature"] = "changed"
	assert.Equal(t, map[string]any{"signature": []byte{1}}, thought.Payload())

	init.ReplayCompatibility, init.Payload = "", map[string]any{"f": func() {}}
	_, err = NewThought(init)
	refuses(t, err, E_INVALID_INITIAL_THOUGHT_VALUE,
		"payload: is not plain data at f, want plain data; replayCompatibility: is missing, want the name of the payload's form")
}

func someToolCallInit() ToolCallInit {
	return ToolCallInit{
		ID: "c", Tool: "search", Args: map[string]any{"q": "x", "n": 2}, Results: Text("found"),
		CreatedAt: primitiveBegan, UpdatedAt: primitiveBegan, CompletedAt: primitiveEnded,
	}
}

// PRM-7, TOL-4
func TestToolCall(t *testing.T) {
	init := someToolCallInit()
	call, err := NewToolCall(init)
	require.NoError(t, err)
	assert.True(t, call.Inline())
	assert.Len(t, call.Checksum(), 64)
	call.Args()["q"] = "changed"
	assert.Empty(t, cmp.Diff(map[string]any{"q": "x", "n": 2.0}, call.Args()))

	for _, args := range []any{`{"n":2,"q":"x"}`, []byte(`{"q":"x","n":2.0}`), json.RawMessage(`{"q":"\u0078","n":2}`)} {
		init.Args = args
		same, err := NewToolCall(init)
		require.NoError(t, err)
		assert.Equal(t, call.Checksum(), same.Checksum())
		assert.Equal(t, call.Digest(), same.Digest())
	}

	_, err = NewToolCall(ToolCallInit{})
	refuses(t, err, E_INVALID_INITIAL_TOOL_CALL_VALUE, "id: is missing, want the id under which the model asked for the call; "+
		"tool: is missing, want the name of the tool; args: is missing, want an object or its JSON text, {} for no arguments; "+
		"results: is missing or empty, want text, a media or a list of media; createdAt: is missing, want a time; "+
		"updatedAt: is missing, want a time; completedAt: is missing, want a time")
}

// PRM-7: arguments that are not an object, and invalid results, are refused.
func TestToolCallRefuses(t *testing.T) {
	itself := map[string]any{}
	itself["again"] = itself
	for _, args := range []any{`[1]`, `null`, `"{}"`, `1`, `{`, ``, []byte(nil), 5, []any{}, map[string]string{}, map[string]any{"f": func() {}}, itself} {
		init := someToolCallInit()
		init.Args = args
		_, err := NewToolCall(init)
		require.ErrorIs(t, err, E_INVALID_INITIAL_TOOL_CALL_VALUE, "%T", args)
		require.ErrorContains(t, err, "args: ")
	}
	for _, results := range []ToolResult{nil, (*Tokenizable)(nil), (*Media)(nil), MediaList{}, MediaList{nil}, Bytes("x"), Bytes(nil), Text("\xff")} {
		init := someToolCallInit()
		init.Results = results
		_, err := NewToolCall(init)
		require.ErrorIs(t, err, E_INVALID_INITIAL_TOOL_CALL_VALUE, "%T", results)
		require.ErrorContains(t, err, "results")
	}
}

// TOL-5
func TestEmptyResult(t *testing.T) {
	for _, empty := range []ToolResult{nil, (*Tokenizable)(nil), (*Media)(nil), MediaList(nil), MediaList{}} {
		checked, err := checkedResult(empty)
		require.NoError(t, err)
		assert.Nil(t, checked, "%T", empty)
	}
	for _, full := range []ToolResult{Text(""), Bytes{}, someMedia(t), MediaList{someMedia(t)}} {
		checked, err := checkedResult(full)
		require.NoError(t, err)
		assert.Equal(t, full, checked)
	}
	checked, err := checkedResult(Bytes(new(bytes.Buffer).Bytes()))
	require.NoError(t, err)
	assert.Equal(t, Bytes{}, checked, "a buffer that nobody has written to")
}

// PRM-8: bytes are read when they are asked for, from the beginning each time.
func TestMediaReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.bin")
	data := []byte{1, 2, 3}
	readers := map[string]MediaReader{"bytes": MediaBytes(data), "file": MediaFile(path), "func": MediaFunc(func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("\x01\x02\x03")), nil
	})}
	data[0] = 9
	require.NoError(t, os.WriteFile(path, []byte{1, 2, 3}, 0o600))
	for name, reader := range readers {
		init := someMedia(t).Init()
		init.Reader = reader
		media, err := NewMedia(init)
		require.NoError(t, err)
		for range 2 {
			text, err := media.Base64(t.Context())
			require.NoError(t, err, name)
			assert.Equal(t, "AQID", text, name)
		}
	}
	_, err := MediaFile(path + "x").Open(t.Context())
	assert.ErrorIs(t, err, os.ErrNotExist)
}

type failingStream struct{ io.Reader }

var errStreamClose = errors.New("close failed")

func (failingStream) Close() error { return errStreamClose }

func TestMediaThatCannotBeRead(t *testing.T) {
	init := someMedia(t).Init()
	init.Reader = MediaFunc(func(context.Context) (io.ReadCloser, error) { return failingStream{strings.NewReader("x")}, nil })
	media, err := NewMedia(init)
	require.NoError(t, err)
	_, err = media.Base64(t.Context())
	assert.ErrorIs(t, err, errStreamClose)

	init.Reader = MediaFunc(func(context.Context) (io.ReadCloser, error) { return nil, nil })
	media, err = NewMedia(init)
	require.NoError(t, err)
	_, err = media.Bytes(t.Context())
	assert.ErrorIs(t, err, E_NOT_A_MEDIA_READER)
}

// PRM-8
func TestMediaRefuses(t *testing.T) {
	_, err := NewMedia(MediaInit{Kind: "smell", MIMEType: "png", Reader: MediaFunc(nil), Stash: map[string]MediaStashEntry{
		"b": {}, "a": {Value: make(chan int), TrustTier: TrustFirstParty},
	}})
	assert.ErrorIs(t, err, E_NOT_A_MEDIA_READER)
	refuses(t, err, E_INVALID_INITIAL_MEDIA_VALUE, `id: is missing, want the id that the caller gives the media; `+
		`kind: is "smell", want image, audio, video or document; mimeType: is "png", want a MIME type such as image/png; `+
		`filename: is missing, want the name to show; reader: is missing, want one that can be opened; `+
		`trustTier: is missing, want first-party, third-party-public or third-party-private; `+
		`modalityHazard: is missing, want inert, extractable-instructions or opaque-perceptual; `+
		`stash["a"].value: is of the type chan int, want plain data; `+
		`stash["b"].trustTier: is missing, want first-party, third-party-public or third-party-private`)
}

// PRM-8: the trust tier and hazard that the four factories give.
func TestMediaFactories(t *testing.T) {
	for _, c := range []struct {
		make func(MediaInit) (*Media, error)
		tier TrustTier
	}{
		{NewUserAttachment, TrustThirdPartyPrivate}, {NewToolGenerated, TrustFirstParty},
		{NewRetrievedPublic, TrustThirdPartyPublic}, {NewRetrievedPrivate, TrustThirdPartyPrivate},
	} {
		init := MediaInit{ID: "x", MIMEType: "a/b", Filename: "f", Reader: MediaBytes(nil)}
		for kind, hazard := range map[MediaKind]ModalityHazard{
			MediaImage: HazardOpaquePerceptual, MediaAudio: HazardOpaquePerceptual, MediaVideo: HazardOpaquePerceptual,
			MediaDocument: HazardExtractableInstructions,
		} {
			init.Kind = kind
			media, err := c.make(init)
			require.NoError(t, err)
			assert.Equal(t, c.tier, media.TrustTier())
			assert.Equal(t, hazard, media.ModalityHazard())
		}
		init.TrustTier, init.ModalityHazard = TrustFirstParty, HazardInert
		_, err := c.make(init)
		assert.ErrorIs(t, err, E_INVALID_INITIAL_MEDIA_VALUE)
	}
}

// PRM-8: a media's stash cannot be changed from outside.
func TestMediaStash(t *testing.T) {
	media := someMedia(t)
	media.Stash()["text:caption"] = MediaStashEntry{}
	entry, found := media.Stashed("size")
	require.True(t, found)
	entry.Value.(map[string]any)["w"] = 0
	again, _ := media.Stashed("size")
	assert.Equal(t, int64(3), again.Value.(map[string]any)["w"])
	_, found = media.Stashed("other")
	assert.False(t, found)
}

// DET-8: the JSON is the same on every machine, so this test pins it.
func TestRecordJSON(t *testing.T) {
	media := someMedia(t)
	const mediaText = `{"id":"pic","kind":"image","mimeType":"image/png","filename":"a.png","trustTier":"third-party-public",` +
		`"modalityHazard":"opaque-perceptual","source":"https://example.org/a.png","size":3,"stash":{"size":{"value":{"w":{"$int64":"3"}},` +
		`"trustTier":"first-party"},"text:caption":{"value":"a cat","trustTier":"third-party-public","derivedFrom":"pic"}}}`
	init := someToolCallInit()
	init.Results, init.IsError = MediaList{media}, true
	call, err := NewToolCall(init)
	require.NoError(t, err)
	const callText = `{"id":"c","tool":"search","args":{"n":2,"q":"x"},"results":{"mediaList":[` + mediaText + `]},"inline":true,"isError":true,` +
		`"createdAt":"2024-05-06T05:08:09.00000001Z","updatedAt":"2024-05-06T05:08:09.00000001Z","completedAt":"2024-05-06T05:08:10.00000001Z"}`
	for want, record := range map[string]Record{mediaText: media, callText: call, "\"<b>\u2028\"": Text("<b>\u2028")} {
		text, err := record.MarshalJSON()
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
		assert.Equal(t, DigestOf([]byte(want)), record.Digest())
	}
}

// DET-8: the digest is the same, also when several goroutines ask for it first.
func TestDigestFromManyGoroutines(t *testing.T) {
	media := someMedia(t)
	want := someMedia(t).Digest()
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() { assert.Equal(t, want, media.Digest()) })
	}
	readers.Wait()
}

// anyRecord draws a valid record of any kind except a tool.
func anyRecord(t *rapid.T, depth int) Record {
	text := rapid.StringN(1, 8, -1).Filter(func(s string) bool { return s != "" })
	maybe := rapid.OneOf(rapid.Just(""), text)
	score := func(name string) *float64 { return new(rapid.Float64Range(0, 1).Draw(t, name)) }
	created := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "created"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos"))
	updated := created.Add(time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "age")))
	tier := rapid.SampledFrom([]TrustTier{TrustFirstParty, TrustThirdPartyPublic, TrustThirdPartyPrivate})
	identity := func() Identity {
		identity, err := NewIdentity(rapid.OneOf(text.AsAny(), rapid.Int64().AsAny()).Draw(t, "identifier"), text.Draw(t, "name"))
		require.NoError(t, err)
		return rapid.SampledFrom([]Identity{{}, identity}).Draw(t, "identity")
	}
	payload := func() any {
		if depth > 0 && rapid.Bool().Draw(t, "nested") {
			return map[string]any{"$record": anyRecord(t, depth-1), "list": []any{anyRecord(t, depth-1)}}
		}
		return rapid.SampledFrom([]any{nil, 1, 1.0, []string{"a"}, []byte{1}, map[string]any{"a": uint8(1)}}).Draw(t, "payload")
	}
	media := func() *Media {
		made, err := NewMedia(MediaInit{
			ID: text.Draw(t, "id"), Kind: MediaAudio, MIMEType: "audio/ogg; codecs=opus", Filename: text.Draw(t, "filename"),
			Reader: MediaBytes(nil), TrustTier: tier.Draw(t, "tier"), ModalityHazard: HazardInert, Source: maybe.Draw(t, "source"),
			Stash: map[string]MediaStashEntry{text.Draw(t, "key"): {Value: payload(), TrustTier: tier.Draw(t, "tier"), DerivedFrom: maybe.Draw(t, "from")}},
		})
		require.NoError(t, err)
		return made
	}
	var record Record
	var err error
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		record, err = asRecord(NewMessage(MessageInit{ID: text.Draw(t, "id"), Role: rapid.SampledFrom([]Role{RoleUser, RoleAssistant}).Draw(t, "role"),
			Content: maybe.Draw(t, "content"), Attachments: []*Media{media()}, Identity: identity(), CreatedAt: created, UpdatedAt: updated}))
	case 1:
		record, err = asRecord(NewMemory(MemoryInit{text.Draw(t, "id"), text.Draw(t, "content"), score("c"), score("i"), created, updated}))
	case 2:
		record, err = asRecord(NewThought(ThoughtInit{text.Draw(t, "id"), text.Draw(t, "content"), identity(), payload(), text.Draw(t, "tag"), created, updated}))
	case 3:
		record, err = asRecord(NewRetrievable(RetrievableInit{text.Draw(t, "id"), text.Draw(t, "content"), tier.Draw(t, "tier"), maybe.Draw(t, "source"),
			maybe.Draw(t, "kind"), rapid.SampledFrom([]*float64{nil, score("score")}).Draw(t, "maybe"), created, updated}))
	case 4:
		record, err = asRecord(NewToolCall(ToolCallInit{ID: text.Draw(t, "id"), Tool: text.Draw(t, "tool"),
			Args:    map[string]any{text.Draw(t, "arg"): rapid.OneOf(rapid.Float64().AsAny(), text.AsAny()).Draw(t, "value")},
			Results: rapid.SampledFrom([]ToolResult{Text(maybe.Draw(t, "result")), media(), MediaList{media(), media()}}).Draw(t, "results"),
			Inline:  new(rapid.Bool().Draw(t, "inline")), IsError: rapid.Bool().Draw(t, "error"), FromArtifactTool: rapid.Bool().Draw(t, "artifact"),
			CreatedAt: created, UpdatedAt: updated, CompletedAt: updated}))
	case 5:
		record = media()
	default:
		record = Text(maybe.Draw(t, "text"))
	}
	require.NoError(t, err)
	return record
}

// DET-8: a record that is parsed from its JSON is the same record.
func TestParseRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := anyRecord(t, 1)
		text, err := record.MarshalJSON()
		require.NoError(t, err)
		require.True(t, json.Valid(text), string(text))
		require.NotContains(t, string(text), "\n")
		back, err := ParseRecord(record.RecordKind(), text)
		require.NoError(t, err, string(text))
		again, err := back.MarshalJSON()
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
		require.Equal(t, record.Digest(), back.Digest())
		require.Equal(t, record.Key(), back.Key())
		require.IsType(t, record, back)
	})
}

// A record's Init makes the same record again, so that a changed copy can start from it.
func TestInitMakesTheSameRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		record := anyRecord(t, 1)
		var again Record
		var err error
		switch r := record.(type) {
		case *Message:
			again, err = asRecord(NewMessage(r.Init()))
		case *Memory:
			again, err = asRecord(NewMemory(r.Init()))
		case *Thought:
			again, err = asRecord(NewThought(r.Init()))
		case *Retrievable:
			again, err = asRecord(NewRetrievable(r.Init()))
		case *ToolCall:
			again, err = asRecord(NewToolCall(r.Init()))
		case *Media:
			again, err = asRecord(NewMedia(r.Init()))
		default:
			t.Skip("has no init")
		}
		require.NoError(t, err)
		require.Equal(t, record.Digest(), again.Digest())
	})
}

// PRM-8: a media that was parsed from JSON has everything except its bytes.
func TestParsedMediaHoldsNoBytes(t *testing.T) {
	text, err := someMedia(t).MarshalJSON()
	require.NoError(t, err)
	record, err := ParseRecord(RecordMedia, text)
	require.NoError(t, err)
	_, err = record.(*Media).Bytes(t.Context())
	require.ErrorIs(t, err, E_NOT_A_MEDIA_READER)
	assert.ErrorContains(t, err, `media "pic" holds no bytes: it was read from JSON`)
}

func TestParseRecordRefuses(t *testing.T) {
	for _, c := range []struct {
		kind RecordKind
		text string
		code Code
	}{
		{RecordMessage, `{`, E_INVALID_INITIAL_MESSAGE_VALUE},
		{RecordMessage, `null`, E_INVALID_INITIAL_MESSAGE_VALUE},
		{RecordMessage, `{"identity":{"identifier":1.5,"representation":"x"}}`, E_INVALID_INITIAL_MESSAGE_VALUE},
		{RecordMessage, `{"attachments":[{}]}`, E_INVALID_INITIAL_MEDIA_VALUE},
		{RecordMemory, `{"confidence":"1"}`, E_INVALID_INITIAL_MEMORY_VALUE},
		{RecordThought, `{"payload":{"$stranger":1}}`, E_INVALID_INITIAL_THOUGHT_VALUE},
		{RecordToolCall, `{"results":{}}`, E_INVALID_INITIAL_TOOL_CALL_VALUE},
		{RecordRetrievable, `[]`, E_INVALID_INITIAL_RETRIEVABLE_VALUE},
		{RecordMedia, `{"stash":{"a":{"value":{"$int8":"x"}}}}`, E_INVALID_INITIAL_MEDIA_VALUE},
	} {
		record, err := ParseRecord(c.kind, []byte(c.text))
		require.ErrorIs(t, err, c.code, "%s %s", c.kind, c.text)
		require.Nil(t, record)
	}
	_, err := ParseRecord(RecordToolCall, []byte(`{"args":7,"tool":7}`))
	assert.ErrorContains(t, err, "the JSON is not that of such a record: tool: want a text, found a number", "no type of Go")
	_, err = ParseRecord(RecordMessage, []byte(`{"createdAt":"`+strings.Repeat("1", 1<<20)+`"}`))
	assert.ErrorContains(t, err, "want times as in 2025-01-01T00:00:00Z")
	assert.Less(t, len(err.Error()), 200, "an error does not grow with the file")
	for _, text := range []string{`null`, `5`, ``} {
		_, err := ParseRecord(RecordInstruction, []byte(text))
		assert.ErrorContains(t, err, "standing instruction", text)
	}
	_, err = ParseRecord("stranger", []byte(`{}`))
	assert.ErrorContains(t, err, `"stranger" is no kind of record`)
}
