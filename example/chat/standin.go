package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// standIn is a model that needs no key and no network: it is served on this machine, speaks Chat
// Completions, and understands five sentences. It says its words one by one, with a pause before
// each.
type standIn struct{ pause time.Duration }

// serve starts a server for the handler on this machine, and returns its address.
func serve(model http.Handler) (url string, stop func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: model, ReadHeaderTimeout: time.Minute}
	over := make(chan error, 1)
	go func() { over <- server.Serve(listener) }()
	stop = func() error {
		err := server.Close()
		if ended := <-over; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
		return err
	}
	return "http://" + listener.Addr().String() + "/v1", stop, nil
}

// mostAsked is the maximal size of a request in bytes.
const mostAsked = 16 << 20

// asked is the part of a request that the stand-in reads.
type asked struct {
	Messages []struct {
		Role, Content string
		Calls         []struct{ Function struct{ Name string } } `json:"tool_calls"`
	}
}

// spoken is what the model says next: a text, or the call of a tool.
type spoken struct {
	text, tool string
	args       any
}

// ServeHTTP answers with a stream.
func (m standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request asked
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostAsked))
	if err != nil || json.Unmarshal(body, &request) != nil || len(request.Messages) == 0 {
		http.Error(w, "the stand-in wants Chat Completions with texts", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	answer := request.answer()
	for _, delta := range answer.deltas(fmt.Sprintf("call_%x", sha256.Sum256(body))[:20]) {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(m.pause):
		}
		event, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}})
		if err != nil {
			panic(err) // cannot happen with texts and maps of texts
		}
		fmt.Fprintf(w, "data: %s\n\n", event)
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
	}
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", answer.reason())
}

// deltas returns the pieces of the stream. id is the id of a tool call, and differs for each
// request.
func (s spoken) deltas(id string) (all []any) {
	if s.tool != "" {
		args, err := json.Marshal(s.args)
		if err != nil {
			panic(err) // cannot happen, as above
		}
		return []any{map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": id, "type": "function",
			"function": map[string]any{"name": s.tool, "arguments": string(args)}}}}}
	}
	for _, word := range strings.SplitAfter(s.text, " ") {
		all = append(all, map[string]any{"content": word})
	}
	return all
}

func (s spoken) reason() string {
	if s.tool != "" {
		return "tool_calls"
	}
	return "stop"
}

// The sentences that the stand-in understands.
var (
	remembering = regexp.MustCompile(`(?is)^(?:remember that )?my ([\p{L} ]{1,40}) is (.+?)[.!]?$`)
	forgetting  = regexp.MustCompile(`(?is)^forget my ([\p{L} ]{1,40}?)[.!]?$`)
	booked      = regexp.MustCompile(`(?is)^book (.+) at (.+?)[.!]?$`)
	knowing     = regexp.MustCompile(`(?is)^what do you know`)
	memorySaid  = regexp.MustCompile(`(?s)<memory_\w+ [^>]*>\n(.*?)\n</memory_`)
)

// answer decides what to say.
func (a asked) answer() spoken {
	line, tool, result := a.last()
	if tool != "" && tool != "recap" {
		return spoken{text: "Done: " + result + "."}
	}
	if tool == "" && a.shows(recapRule) {
		return spoken{tool: "recap", args: recapArgs{a.recapped()}}
	}
	if m := remembering.FindStringSubmatch(line); m != nil {
		return spoken{tool: "remember", args: noteArgs{m[1], m[2]}}
	}
	if m := forgetting.FindStringSubmatch(line); m != nil {
		return spoken{tool: "remember", args: noteArgs{Topic: m[1]}}
	}
	if m := booked.FindStringSubmatch(line); m != nil {
		return spoken{tool: "book", args: bookArgs{m[1], m[2]}}
	}
	if !knowing.MatchString(line) {
		return spoken{text: "You said: " + line}
	}
	if known := a.known(); known != "" {
		return spoken{text: "I know this:\n" + known}
	}
	return spoken{text: "I know nothing of you yet. Say: My tea is green."}
}

// last returns the last line of the user, and the tool that was called since, with its result.
func (a asked) last() (line, tool, result string) {
	for _, m := range a.Messages {
		switch {
		case m.Role == "user":
			line, tool, result = inside(m.Content), "", ""
		case len(m.Calls) > 0:
			tool = m.Calls[len(m.Calls)-1].Function.Name
		case m.Role == "tool":
			result = inside(m.Content)
		}
	}
	return line, tool, result
}

// shows reports whether a system message contains a text.
func (a asked) shows(text string) bool {
	for _, m := range a.Messages {
		if m.Role == "system" && strings.Contains(m.Content, text) {
			return true
		}
	}
	return false
}

// known returns the texts of the memories.
func (a asked) known() string {
	var all []string
	for _, m := range a.Messages {
		if m.Role == "system" {
			for _, memory := range memorySaid.FindAllStringSubmatch(m.Content, -1) {
				all = append(all, memory[1])
			}
		}
	}
	return strings.Join(all, "\n")
}

// mostRecapped is how many characters of each line are in a recap.
const mostRecapped = 40

// recapped makes a recap: the begin of each line of the user.
func (a asked) recapped() string {
	lines := []string{"We spoke of:"}
	for _, m := range a.Messages {
		if m.Role == "user" {
			line := []rune(inside(m.Content))
			lines = append(lines, "- "+string(line[:min(len(line), mostRecapped)]))
		}
	}
	return strings.Join(lines, "\n")
}

// inside returns a text without its envelope, which is its first and its last line.
func inside(enveloped string) string {
	_, text, _ := strings.Cut(enveloped, "\n")
	if end := strings.LastIndexByte(text, '\n'); end >= 0 {
		return text[:end]
	}
	return enveloped
}
