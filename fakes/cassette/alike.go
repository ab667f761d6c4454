package cassette

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/adkreplay/adkreplay/internal/wire"
)

// inBrackets returns the reasons in brackets, or nothing if there are none.
func inBrackets(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	return " (" + strings.Join(reasons, "; ") + ")"
}

const (
	archiveIt = ": record it again as a HAR, which browsers and proxies save, or write it in the JSON of fakes.ReadConversation"
	noForm    = "it is in none of the forms that are read: go-vcr, VCR.py, VCR, httprr, HAR, and the JSON of fakes.ReadConversation"
)

// mitmproxyFlow matches the begin of a mitmproxy file: the length of the first list and of its
// first name.
var mitmproxyFlow = regexp.MustCompile(`^\d+:\d+:[a-z]`)

// ofAForm matches words that occur in each of the forms that Read knows, and hardly in other texts.
var ofAForm = regexp.MustCompile(`interactions|"log"|^httprr`)

// onTheWire matches the begin of a request or a response in plain HTTP, and curl's marks for it.
var onTheWire = regexp.MustCompile(`(?m)\A(?:###.*\s+)?(?:HTTP/[\d.]+ \d|[A-Z]+ \S+ HTTP/|[A-Z]+ https?://)|^[<>] (?:HTTP/[\d.]+ \d|[A-Z]+ \S+ HTTP/)|^[<=]= ?(?:Info|Recv header)`)

// lookAlike says what a file that could not be read looks like, and what the user can do. It
// returns an empty text if the error of the reader says more.
func lookAlike(data []byte) string {
	var first struct {
		Scope, Response, Mappings, Resources, Item json.RawMessage

		Request  struct{ Method, URL, URLPath, URLPattern string }
		CustomID string `json:"custom_id"`
		Trace    string `json:"adkreplay"`
	}
	list := bytes.HasPrefix(bytes.TrimSpace(data), []byte("["))
	in := json.NewDecoder(bytes.NewReader(data))
	if list {
		_, _ = in.Token()
	}
	_ = in.Decode(&first)
	switch {
	case list && first.Scope != nil && first.Response != nil:
		return "it looks like nock's form, which is not read" + archiveIt
	case first.Mappings != nil, !list && first.Response != nil && first.Request.Method != "" && first.Request.URL+first.Request.URLPath+first.Request.URLPattern != "":
		return "it looks like WireMock's form, which is not read" + archiveIt
	case first.CustomID != "":
		return "it looks like one of the two files of a batch of OpenAI's: both are needed, its requests and its answers"
	case first.Trace == wire.FormatName:
		return "it is a trace: adkreplay export writes its conversation"
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return "it is a zip: if Playwright made it, there is a HAR in it whose bodies are files of their own; have it embed them"
	case mitmproxyFlow.Match(data):
		return "it looks like mitmproxy's form, which is not read: mitmdump -nr in --set hardump=out.har makes a HAR of it"
	case first.Item != nil, first.Resources != nil, bytes.Contains(data, []byte("collection.insomnia.rest")):
		return "it looks like a collection of Postman's or Insomnia's, which says what to ask and not what was answered" + archiveIt
	case onTheWire.Match(data):
		return "it looks like HTTP as it is on the wire, or as curl shows it, which is not read" + archiveIt
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return "it is UTF-16: save it as UTF-8"
	case len(data) == 0:
		return "it is empty"
	case list, !ofAForm.Match(data):
		return noForm
	}
	return ""
}
