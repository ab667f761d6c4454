package encoded_test

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/replay/internal/encoded"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// ways are encodings that code may apply to a text.
var ways = map[string]func(string) string{
	"query":   url.QueryEscape,
	"path":    url.PathEscape,
	"hex":     func(text string) string { return hex.EncodeToString([]byte(text)) },
	"HEX":     func(text string) string { return strings.ToUpper(hex.EncodeToString([]byte(text))) },
	"std":     func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
	"raw std": func(text string) string { return base64.RawStdEncoding.EncodeToString([]byte(text)) },
	"url":     func(text string) string { return base64.URLEncoding.EncodeToString([]byte(text)) },
	"raw url": func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) },
	"form": func(text string) string {
		return url.Values{"a": {base64.StdEncoding.EncodeToString([]byte(text))}}.Encode()
	},
	"header": func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) },
	"in a URL": func(text string) string {
		return "https://shop.example/pay/" + base64.RawURLEncoding.EncodeToString([]byte(text)) + "/now"
	},
	"in JSON": func(text string) string {
		return `{"a":"` + base64.StdEncoding.EncodeToString([]byte(text)) + `","b":"` + url.PathEscape(text) + `"}`
	},
}

// recorder returns a function that gives the text that a recorder with these secrets writes.
func recorder(t require.TestingT, secrets ...string) func(string) string {
	rules := &redact.Rules{}
	for _, secret := range secrets {
		rules.Patterns = append(rules.Patterns, redact.Pattern{Kind: "secret", Expr: secret})
	}
	compiled, err := redacting.Compile(rules)
	require.NoError(t, err)
	all := strings.Join(secrets, "\n") + "\n"
	return func(text string) string {
		_, text, _ = strings.Cut(compiled.Text(all+text), "]\n")
		for range secrets[1:] {
			_, text, _ = strings.Cut(text, "]\n")
		}
		return text
	}
}

// An encoded placeholder equals the recorded text for the encoded secret, with one placeholder or
// several, inside of any other text.
func TestAnEncodedPlaceholderIsThatOfTheEncodedSecret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z]{4}_[a-z0-9]{8,12}`)
		one, two := secret.Draw(t, "one"), secret.Draw(t, "two")
		if one == two {
			t.Skip("one secret")
		}
		others := rapid.StringMatching(`[ -Z^-~äß]{0,9}`)
		made := func(a, b string) string { return others.Draw(t, "before") + a + "|" + others.Draw(t, "between") + b }
		text := made("\x01", "\x02") + others.Draw(t, "behind")
		of := func(a, b string) string { return strings.NewReplacer("\x01", a, "\x02", b).Replace(text) }
		way := ways[rapid.SampledFrom(slices.Sorted(maps.Keys(ways))).Draw(t, "way")]
		recorded := recorder(t, one, two)(way(of(one, two)))
		require.Contains(t, recorded, "[redacted:secret:2]")
		var r encoded.Recorded
		r.Add(recorded)
		assert.Equal(t, recorded, r.InText(way(of("[redacted:secret:1]", "[redacted:secret:2]"))), "%q", of(one, two))
	})
}

// Any other encoding of a placeholder, or of the text beside it, is a different text from the
// recorded one.
func TestAnythingElseEncodedIsAnotherText(t *testing.T) {
	const one, two = "[redacted:secret:1]", "[redacted:secret:2]"
	record := recorder(t, "hunter2-is-mine", "hunter3-is-yours")
	for name, way := range ways {
		recorded := record(way("my hunter2-is-mine, your hunter3-is-yours."))
		var r encoded.Recorded
		r.Add(recorded)
		require.Equal(t, recorded, r.InText(way("my "+one+", your "+two+".")), name)
		for _, text := range []string{
			"", one, "my " + two + ", your " + two + ".", "my " + two + ", your " + one + ".", "my " + one + ", your " + one[1:] + ".",
			"my " + one + ", your [redacted:secret:3].", "my " + one + ", your [redacted:other:2].", "my " + one + ", your " + two + two + ".",
			"my " + one + ", your " + two, "my " + one + ", your " + two + "!", "my " + one + ", your " + two + "..",
			"my " + one + "; your " + two + ".", "My " + one + ", your " + two + ".", "My own " + one + ", your " + two + ".", one + ", your " + two + ".",
		} {
			assert.NotEqual(t, recorded, r.InText(way(text)), "%s: %s", name, text)
		}
		whole := way("my " + one + ", your " + two + ".")
		for _, cut := range []int{1, len(whole) / 3, len(whole) / 2, len(whole) - 3} {
			assert.NotEqual(t, recorded, r.InText(whole[:cut]), "%s up to %d", name, cut)
			assert.NotEqual(t, recorded, r.InText(whole[cut:]), "%s from %d on", name, cut)
		}
	}
	for was, is := range map[string]string{"std": "raw std", "url": "raw url", "form": "std", "path": "query", "header": "std"} {
		for _, behind := range []string{".", "..", "..."} { // two of these lengths need padding
			recorded := record(ways[was]("hunter2-is-mine <" + behind))
			var r encoded.Recorded
			r.Add(recorded)
			assert.Equal(t, recorded, r.InText(ways[was](one+" <"+behind)))
			if padded := !strings.Contains(was, "std") && was != "url" || strings.HasSuffix(ways[was]("hunter2-is-mine <"+behind), "=") && strings.HasSuffix(ways[was](one+" <"+behind), "="); padded {
				assert.NotEqual(t, recorded, r.InText(ways[is](one+" <"+behind)), "%s, and %s; %s", was, is, recorded)
			}
		}
	}
}

// If the recording has an encoded placeholder itself, as that of a replay may, so does live code.
func TestAnEncodedPlaceholderThatWasRecordedIsItself(t *testing.T) {
	for name, way := range ways {
		said := way("[redacted:secret:1]") + " of [redacted:secret:1]"
		var r encoded.Recorded
		r.Add(said)
		assert.Equal(t, said, r.InText(said), name)
	}
}

// A run of base64 digits of one alphabet ends at a digit that only the other alphabet has. The
// text that is decoded up to there is only a part of the run.
func TestAllOfARunCounts(t *testing.T) {
	way := ways["in a URL"]
	recorded := recorder(t, "NADz_k253ige5", "MCzG_0szexq8hup10")(way(" #h 2/-0INADz_k253ige5|>,/MCzG_0szexq8hup10"))
	require.Contains(t, recorded, "/ICNoIDIvLTBJ[redacted:secret:1]Xw-LC9[redacted:secret:2]A/")
	var r encoded.Recorded
	r.Add(recorded)
	assert.Equal(t, recorded, r.InText(way(" #h 2/-0I[redacted:secret:1]|>,/[redacted:secret:2]")))
}
