package cassette_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/fakes/cassette"
)

// These constants are parts of one conversation, which the tests write in all forms: its request was
// compressed, and its answer is an event stream.
const (
	url   = "https://api.openai.com/v1/chat/completions"
	sent  = `{"model":"m","messages":[{"role":"user","content":"Ærlig talt?\n"}]}`
	comes = "data: {\"choices\":[]}\n\n: comment\n\ndata: [DONE]\n\n"
)

func want(source string) fakes.Conversation {
	return fakes.Conversation{Source: source, Interactions: []fakes.Interaction{{
		Request:  fakes.ProviderRequest{Method: "POST", URL: url, Headers: http.Header{"X-Team": {"weather"}}, Body: sent},
		Response: fakes.Reply{Status: 200, ContentType: "text/event-stream", Headers: http.Header{"Retry-After": {"1"}}, Body: comes},
	}}}
}

func zipped(text string) string {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, _ = zip.Write([]byte(text))
	_ = zip.Close()
	return out.String()
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// chunked encodes a text as a server sends it if it does not tell the length.
func chunked(text string) string {
	half := len(text) / 2
	return fmt.Sprintf("%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", half, text[:half], len(text)-half, text[half:])
}

func httprr() string {
	asked := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: api.openai.com\r\nX-Team: weather\r\nAuthorization: Bearer s\r\nContent-Length: %d\r\n\r\n%s", url, len(sent), sent)
	answered := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nRetry-After: 1\r\nSet-Cookie: s\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(zipped(comes))
	return fmt.Sprintf("httprr trace v1\n%d %d\n%s%s", len(asked), len(answered), asked, answered)
}

func yamlText(text string) string { return fmt.Sprintf("%q", text) }

// forms are the conversation in each form; secrets is the number of headers that are left out.
func forms() map[string]struct {
	text    string
	form    string
	secrets int
} {
	goVCR := func(version int, request, response string) string {
		return fmt.Sprintf("---\nversion: %d\ninteractions:\n- %s\n    headers:\n      X-Team: [weather]\n      Authorization: [Bearer s]\n    url: %s\n    method: POST\n"+
			"  response:\n    %s\n    headers: {Content-Type: [text/event-stream], Retry-After: [\"1\"]}\n    status: 200 OK\n    code: 200\n    duration: 1.5s\n",
			version, request, url, response)
	}
	vcrPy := "interactions:\n- request:\n    body: " + yamlText(sent) + "\n    headers:\n      X-Team:\n      - weather\n      api-key: [s]\n    method: POST\n    uri: " + url +
		"\n  response:\n    body:\n      string: !!binary |\n        " + base64Of(zipped(comes)) + "\n    headers:\n      content-encoding: [gzip]\n      content-type: [text/event-stream]\n      retry-after: ['1']\n      Set-Cookie: [s]\n" +
		"    status: {code: 200, message: OK}\nversion: 1\n"
	har := fmt.Sprintf(`{"log":{"version":"1.2","entries":[{"request":{"method":"POST","url":%q,"headers":[{"name":":authority","value":"x"},{"name":"x-team","value":"weather"},{"name":"authorization","value":"s"}],"postData":{"text":%s}},`+
		`"response":{"status":200,"headers":[{"name":"retry-after","value":"1"},{"name":"content-encoding","value":"gzip"}],"content":{"mimeType":"text/event-stream","text":%q,"encoding":"base64"}}}]}}`,
		url, yamlText(sent), base64Of(comes))
	ours := fmt.Sprintf(`{"source":"ours","interactions":[{"request":{"method":"POST","url":%q,"headers":{"x-team":["weather"]},"body":%s},"response":{"status":200,"contentType":"text/event-stream","headers":{"retry-after":["1"]},"body":%s}}]}`,
		url, yamlText(sent), yamlText(comes))
	vcr := "---\nhttp_interactions:\n- request:\n    method: post\n    uri: " + url + "\n    body:\n      encoding: ASCII-8BIT\n      string: !binary |-\n        " + base64Of(sent) +
		"\n    headers:\n      X-Team:\n      - weather\n      Authorization:\n      - Bearer s\n  response:\n    status:\n      code: 200\n      message: OK\n    headers:\n" +
		"      Content-Type:\n      - text/event-stream\n      Retry-After:\n      - '1'\n    body:\n      encoding: UTF-8\n      string: " + yamlText(comes) + "\n    http_version:\n  recorded_at: Sun, 01 Jan 2023 00:00:00 GMT\nrecorded_with: VCR 6.1.0\n"
	betamax := fmt.Sprintf(`{"http_interactions":[{"request":{"body":{"encoding":"utf-8","string":%s},"headers":{"x-team":["weather"]},"method":"POST","uri":%q},`+
		`"response":{"body":{"encoding":null,"base64_string":%q},"headers":{"Content-Type":["text/event-stream"],"Retry-After":["1"]},"status":{"code":200,"message":"OK"},"url":%[2]q}}],"recorded_with":"betamax/0.8.1"}`,
		yamlText(sent), url, base64Of(comes))
	return map[string]struct {
		text    string
		form    string
		secrets int
	}{
		"VCR":          {vcr, "VCR", 1},
		"betamax":      {betamax, "VCR", 0},
		"go-vcr 1":     {goVCR(1, "request:\n    body: "+yamlText(sent)+"\n    form: {}", "body: "+yamlText(comes)), "go-vcr", 1},
		"go-vcr 2":     {goVCR(2, "id: 0\n  request:\n    proto: HTTP/1.1\n    content_length: 3\n    body: "+yamlText(sent), "proto: HTTP/1.1\n    uncompressed: true\n    body: "+yamlText(comes)), "go-vcr", 1},
		"VCR.py":       {vcrPy, "VCR.py", 2},
		"httprr":       {httprr(), "httprr", 2},
		"httprr, gzip": {zipped(httprr()), "httprr", 2},
		"HAR":          {har, "HAR", 1},
		"ours":         {ours, "conversation", 0},
	}
}

// CAS-1, CAS-2: every form gives the same conversation.
func TestForms(t *testing.T) {
	for name, c := range forms() {
		t.Run(name, func(t *testing.T) {
			rec, err := cassette.Read("x", strings.NewReader(c.text))
			require.NoError(t, err)
			assert.Equal(t, c.form, rec.Form)
			assert.Equal(t, c.secrets, rec.Secrets)
			source := "x"
			if c.form == "conversation" {
				source = "ours"
			}
			assert.Equal(t, want(source), rec.Conversation)
		})
	}
}

// CAS-1: the two files of a batch are joined by id, in the order of the requests.
func TestBatch(t *testing.T) {
	line := func(id, body string) string {
		return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":"/v1/chat/completions","body":%s}`, id, body)
	}
	answer := func(id, body string) string {
		return fmt.Sprintf(`{"id":"b","custom_id":%q,"response":{"status_code":200,"request_id":"r","body":%s},"error":null}`, id, body)
	}
	rec, err := cassette.ReadBatch("x", strings.NewReader(line("a", `{"n": 1}`)+"\n\n"+line("b", `2`)), strings.NewReader(answer("b", `{}`)+"\n"+answer("a", `[]`)+"\n"))
	require.NoError(t, err)
	require.Len(t, rec.Interactions, 2)
	assert.Equal(t, `{"n": 1}`, rec.Interactions[0].Request.Body)
	assert.Equal(t, fakes.Reply{Status: 200, ContentType: "application/json", Body: `[]`}, rec.Interactions[0].Response)
	for want, files := range map[string][2]string{
		`request 2 ("b") has no answer`:                        {line("a", "1") + "\n" + line("b", "2"), answer("a", "1")},
		`answer 2 ("c") has no request`:                        {line("a", "1"), answer("a", "1") + "\n" + answer("c", "2")},
		`request line 2: the custom_id "a" is none of its own`: {line("a", "1") + "\n" + line("a", "2"), ""},
		`answer line 1:`:                                       {line("a", "1"), "x"},
		`no interactions`:                                      {"", ""},
	} {
		_, err := cassette.ReadBatch("x", strings.NewReader(files[0]), strings.NewReader(files[1]))
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "cassette: x: ")
	}
}

// CAS-1: archives of different programs write the same content in different ways. What an archive has not
// kept is left out and reported.
func TestArchives(t *testing.T) {
	for name, c := range map[string]struct {
		request, response string // the members of each
		sent, kind, came  string
		left, says        string
	}{
		"a form": {`"postData":{"mimeType":"application/x-www-form-urlencoded","params":[{"name":"grant type","value":"a&b"},{"name":"n","value":"1"}]}`, `"content":{"text":"{}"}`,
			"grant+type=a%26b&n=1", "", "{}", "", ""},
		"a form with a file": {`"postData":{"mimeType":"multipart/form-data; boundary=xx","params":[{"name":"f","fileName":"a.txt","contentType":"text/plain","value":"hello"},{"name":"p","value":"v"}]}`, `"content":{"text":"{}"}`,
			"--xx\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--xx\r\nContent-Disposition: form-data; name=\"p\"\r\n\r\nv\r\n--xx--\r\n", "", "{}", "", ""},
		"both ways": {`"postData":{"text":"a=1","params":[{"name":"a","value":"1"}]}`, `"content":{"text":"{}"}`, "a=1", "", "{}", "", ""},
		"a text that was Latin": {`"postData":null`, `"headers":[{"name":"Content-Type","value":"text/plain; charset=ISO-8859-1"}],"content":{"text":"caf\u00e9","size":4}`,
			"", "text/plain; charset=utf-8", "café", "", ""},
		"small, and larger packed": {``, `"content":{"text":"{}","size":36}`, "", "", "{}", "", ""},
		"no answer's body":         {``, `"content":{"size":0,"comment":"Response bodies are not included."}`, "", "", "", "its answer's body is not there: Response bodies are not included.", ""},
		"no request's body":        {`"postData":{"text":"","params":[],"comment":"Request bodies are not included."}`, `"content":{"text":"{}"}`, "", "", "", "its request's body is not there: Request bodies are not included.", ""},
		"half a body":              {``, `"content":{"text":"{\"half\":","size":2000000}`, "", "", "", "of its answer's body only 8 of 2000000 bytes are there", ""},
		"an object for a text":     {`"postData":{"text":{"a":1}}`, ``, "", "", "", "", "interaction 1: request.postData.text: want a text, found an object"},
		"a text for a status":      {``, `"status":"200"`, "", "", "", "", "interaction 1: response.status: want a whole number that is not too large, found a text"},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(members ...string) string {
				return "{" + strings.Join(slices.DeleteFunc(members, func(one string) bool { return one == "" }), ",") + "}"
			}
			rec, err := cassette.Read("x.har", strings.NewReader(`{"log":{"entries":[{"request":`+with(`"method":"POST","url":"http://x/y"`, c.request)+`,"response":`+with(`"status":200`, c.response)+`}]}}`))
			if c.left+c.says != "" {
				assert.ErrorContains(t, err, c.left+c.says)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.sent, rec.Interactions[0].Request.Body)
			assert.Equal(t, c.kind, rec.Interactions[0].Response.ContentType)
			assert.Equal(t, c.came, rec.Interactions[0].Response.Body)
		})
	}
}

// CAS-2: a file that is not a recording is refused, with its name and the place of the fault.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"nothing":            {"", "it is empty"},
		"a text":             {"hello", "in none of the forms"},
		"bytes":              {"\x00\x01:\xff", "in none of the forms"},
		"UTF-16":             {"\xff\xfe{\x00}\x00", "it is UTF-16"},
		"another YAML":       {"a: 1\n", "in none of the forms"},
		"a list in YAML":     {"- request: {method: GET, url: http://x}\n  response: {body: x}\n", "in none of the forms"},
		"another JSON":       {`{"a":1}`, "in none of the forms"},
		"lines of a log":     {`{"request":{"model":"m"},"response":{"id":"x"}}`, "in none of the forms"},
		"none":               {`{"interactions":[]}`, "no interactions"},
		"Postman":            {`{"info":{"name":"c"},"item":[{"request":{"method":"POST","url":{"raw":"https://x"}}}]}`, "a collection of Postman's or Insomnia's"},
		"Insomnia":           {`{"_type":"export","resources":[{"url":"https://x"}]}`, "a collection of Postman's or Insomnia's"},
		"Insomnia 5":         {"type: collection.insomnia.rest/5.0\ncollection: []\n", "a collection of Postman's or Insomnia's"},
		"curl -i":            {"HTTP/2 200 \r\ncontent-type: application/json\r\n\r\n{}", "HTTP as it is on the wire"},
		"curl -v":            {"* Connected to x\n> POST /y HTTP/2\n> Host: x\n< HTTP/2 200\n", "HTTP as it is on the wire"},
		"curl --trace":       {"== Info: Trying\n=> Send header, 1 bytes\n", "HTTP as it is on the wire"},
		"an .http file":      {"### Chat\nPOST https://x/y HTTP/1.1\nContent-Type: application/json\n\n{}\n", "HTTP as it is on the wire"},
		"a cut one":          {`{"interactions":[`, "the JSON breaks off"},
		"a cut gzip":         {zipped(httprr())[:60], "unexpected EOF"},
		"no lengths":         {"httprr trace v1\nx\n", "interaction 1: \"x\" is not the two lengths"},
		"lengths that lie":   {"httprr trace v1\n10 9999999999999\nabc", "interaction 1: "},
		"negative lengths":   {"httprr trace v1\n-1 3\nabc", "interaction 1: "},
		"no request":         {"httprr trace v1\n3 3\nabcdef", "interaction 1: the request"},
		"no response":        {"interactions:\n- request: {method: GET, url: http://x}\n", "interaction 1 has no request or no response"},
		"no status":          {"interactions:\n- request: {method: GET, url: http://x}\n  response: {body: x}\n", "interaction 1 has no status"},
		"no URL":             {"interactions:\n- request: {method: GET}\n  response: {code: 200}\n", "interaction 1 has no method or no URL"},
		"a strange status":   {"interactions:\n- request: {method: GET, url: http://x}\n  response: {code: 99}\n", "interaction 1 has the status 99"},
		"brotli":             {"interactions:\n- request: {method: GET, url: http://x}\n  response: {code: 200, body: \"\\x01\", headers: {Content-Encoding: [br]}}\n", `interaction 1: the response's body: compressed by "br"`},
		"no answer in a HAR": {`{"log":{"entries":[{"request":{"method":"GET","url":"http://x"},"response":{"status":0}}]}}`, "no interactions (interaction 1: no answer came)"},
		"nock":               {`[{"scope":"https://api.openai.com:443","method":"POST","path":"/v1","body":"","status":200,"response":{},"rawHeaders":[]}]`, "looks like nock's"},
		"WireMock":           {`{"mappings":[{"request":{"method":"GET","url":"/x"},"response":{"status":200}}]}`, "looks like WireMock's"},
		"a WireMock stub":    {`{"id":"x","request":{"method":"GET","url":"/x"},"response":{"status":200}}`, "looks like WireMock's"},
		"mitmproxy":          {"1206:9:websocket;0:~8:response;", "looks like mitmproxy's"},
		"half a batch":       {`{"custom_id":"a","method":"POST","url":"/v1","body":{}}` + "\n" + `{"custom_id":"b"}`, "one of the two files of a batch"},
		"a list of strings":  {`["a"]`, "in none of the forms"},
		"no base64 in a HAR": {`{"log":{"entries":[{"request":{"method":"GET","url":"http://x"},"response":{"status":200,"content":{"text":"!","encoding":"base64"}}}]}}`, "interaction 1: the response's body"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cassette.Read("tapes/x.yaml", strings.NewReader(c.text))
			assert.ErrorContains(t, err, c.says)
			assert.ErrorContains(t, err, "cassette: tapes/x.yaml: ")
		})
	}
	_, err := cassette.Open(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// CAS-2: bodies keep their bytes, also where they are not text.
func TestBytesOfBodies(t *testing.T) {
	const bytesOf = "\xff\x00\r\n\xc3"
	rec, err := cassette.Read("x", strings.NewReader("interactions:\n- request: {method: POST, url: http://x, body: !!binary "+base64Of(bytesOf)+"}\n  response: {code: 200, body: !!binary "+base64Of(bytesOf)+"}\n"))
	require.NoError(t, err)
	assert.Equal(t, bytesOf, rec.Interactions[0].Request.Body)
	assert.Equal(t, bytesOf, rec.Interactions[0].Response.Body)
}

// CAS-2: a browser archives the decompressed body of an answer and keeps its Content-Encoding header:
// a body that is text is not decompressed.
func TestBodiesThatBrowsersUnpacked(t *testing.T) {
	for _, packed := range []string{"br", "zstd", "gzip"} {
		rec, err := cassette.Read("x.har", strings.NewReader(`{"log":{"entries":[{"request":{"method":"GET","url":"http://x/page"},"response":{"status":200,
			"headers":[{"name":"content-encoding","value":"`+packed+`"},{"name":"content-type","value":"text/html"}],"content":{"text":"<html>é","mimeType":"text/html"}}}]}}`))
		require.NoError(t, err, packed)
		assert.Equal(t, "<html>é", rec.Interactions[0].Response.Body)
		assert.Empty(t, rec.Interactions[0].Response.Headers.Get("Content-Encoding"))
	}
}

// CAS-2: entries of a browser's archive that are not exchanges are left out, and reported with their place.
// The places of later entries are still those in the archive.
func TestWhatIsLeftOfAnArchive(t *testing.T) {
	archive := func(entries ...string) string { return `{"log":{"entries":[` + strings.Join(entries, ",") + `]}}` }
	entry := func(response, more string) string {
		return `{"request":{"method":"GET","url":"http://x/y?key=s"},"response":` + response + more + `}`
	}
	text := archive(
		entry(`{"status":0,"_error":"net::ERR_ABORTED"}`, ""),
		entry(`{"status":200,"content":{"text":"a"}}`, ""),
		entry(`{"status":101}`, `,"_resourceType":"websocket","_webSocketMessages":[{"type":"send","data":"hi"},{"type":"receive","data":"ho"}]`),
		entry(`{"status":101}`, ""),
		entry(`{"status":200,"headers":[{"name":"content-encoding","value":"br"}],"content":{"text":"/w==","encoding":"base64"}}`, ""),
	)
	rec, err := cassette.Read("x.har", strings.NewReader(text))
	require.NoError(t, err)
	require.Len(t, rec.Interactions, 2)
	assert.Equal(t, "a", rec.Interactions[0].Response.Body)
	assert.Equal(t, "\xff", rec.Interactions[1].Response.Body, "an image, which a browser has unpacked too")
	assert.Equal(t, []string{
		"interaction 1: no answer came (net::ERR_ABORTED)",
		"interaction 3: a WebSocket (2 messages)",
		"interaction 4: it goes on in another protocol",
	}, rec.Left)

	_, err = cassette.Read("x.har", strings.NewReader(archive(entry(`{"status":0}`, ""), entry(`{"status":999}`, ""))))
	assert.ErrorContains(t, err, "interaction 2 has the status 999")
}

// CAS-1, CAS-2: the archive of a real browser, which Playwright drove, of a page that asked a model in
// every way: complete exchanges are served as they were, and the others are left out and
// reported. The last two come from archives without bodies, or with bodies in other files.
func TestArchiveOfABrowser(t *testing.T) {
	rec, err := cassette.Open("testdata/playwright.har")
	require.NoError(t, err)
	assert.Equal(t, []string{
		"interaction 4: its answer was broken off (net::ERR_ABORTED)",
		"interaction 5: no answer came (net::ERR_EMPTY_RESPONSE)",
		"interaction 6: its answer was broken off (net::ERR_INCOMPLETE_CHUNKED_ENCODING)",
		"interaction 10: of its answer's body only the length is there (252 bytes)",
		"interaction 11: its bodies are in files of their own: have the archive hold them, which Playwright calls to embed",
	}, rec.Left)
	client := &http.Client{Transport: fakes.NewTransport(rec.Conversation)}
	var said []string
	for _, one := range rec.Interactions {
		assert.NotContains(t, fmt.Sprint(one), "sk-")
		assert.NotContains(t, fmt.Sprint(one), "secret-cookie")
		resp, err := client.Post(one.Request.URL, "application/json", strings.NewReader(one.Request.Body))
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		said = append(said, fmt.Sprintf("%d %s %q", resp.StatusCode, resp.Header.Get("Content-Type"), body))
	}
	require.Len(t, said, 6)
	assert.Contains(t, said[0], `200 application/json "{\n  \"id\": \"c2\"`)
	assert.Contains(t, said[1], `200 text/event-stream; charset=utf-8 "data: {`)
	assert.Contains(t, said[1], `°C.\"}}]}\n\ndata: [DONE]\n\n"`)
	assert.Equal(t, []string{
		`429 application/json "{\"error\":{\"message\":\"slow down\"}}"`,
		`200 application/json "<html>not json</html>"`,
		`200 application/octet-stream "\x00\xff\xfe\x01\x02"`,
	}, said[2:5])
	assert.Contains(t, said[5], `Hi ümlaut \\\"q\\\"`)

	_, err = cassette.Read("x.zip", strings.NewReader("PK\x03\x04…"))
	assert.ErrorContains(t, err, "it is a zip")
}

// cassettes is the directory of recorded conversations of other projects, which lies beside this one
// on some machines.
const cassettes = "../../../shared/cassettes"

// CAS-1, CAS-2: recorded conversations are read completely.
func TestRecordings(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(cassettes, "*.json"))
	if len(files) == 0 {
		t.Skip("there are no recorded conversations in " + cassettes)
	}
	for _, file := range files {
		rec, err := cassette.Open(file)
		require.NoError(t, err)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		want, err := fakes.ReadConversation(bytes.NewReader(text))
		require.NoError(t, err)
		assert.Equal(t, want, rec.Conversation)
	}
}

// CAS-2: reading any data gives a conversation, or an error with the file's name.
func FuzzRead(f *testing.F) {
	for _, c := range forms() {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := cassette.Read("x", bytes.NewReader(data))
		if err != nil {
			assert.ErrorContains(t, err, "cassette: x: ")
			return
		}
		require.NotEmpty(t, rec.Interactions)
		for _, one := range rec.Interactions {
			assert.NotEmpty(t, one.Request.Method)
			for _, headers := range []http.Header{one.Request.Headers, one.Response.Headers} {
				assert.Empty(t, headers.Values("Authorization"))
			}
		}
	})
}
