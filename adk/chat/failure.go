package chat

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/adkreplay/adkreplay/adk"
)

// HTTPFailure is a server's refusal, or the reason why there was no answer: the cause of
// E_OPENAI_CHAT_COMPLETIONS_HTTP_ERROR.
type HTTPFailure struct {
	// Status is 0 if there was no answer.
	Status int
	// Body is the beginning of the answer's body, up to 64 KiB.
	Body string
	// Cause says why there was no answer; nil if there was one.
	Cause error
}

// Error quotes the beginning of the body.
func (f *HTTPFailure) Error() string {
	if f.Cause != nil {
		return fmt.Sprintf("there is no answer: %v", f.Cause)
	}
	text := fmt.Sprintf("status %d", f.Status)
	if body := quote(strings.TrimSpace(f.Body)); body != "" {
		text += ": " + body
	}
	return text
}

// Unwrap returns the cause.
func (f *HTTPFailure) Unwrap() error { return f.Cause }

// TimeLimit is the limit that was exceeded: the cause of E_OPENAI_CHAT_COMPLETIONS_REQUEST_TIMEOUT
// and of E_OPENAI_CHAT_COMPLETIONS_STREAM_STALLED.
type TimeLimit struct{ Limit time.Duration }

// Error names the limit.
func (l *TimeLimit) Error() string { return "the limit is " + l.Limit.String() }

// mostQuoted is how many characters of a body an error or a log quotes.
const mostQuoted = 256

// quote returns the beginning of a text. The caller removes secrets first: a secret that quote cuts
// in two would no longer be found by blot.
func quote(text string) string {
	n := 0
	for at := range text {
		if n++; n > mostQuoted {
			return strings.ToValidUTF8(text[:at], string(utf8.RuneError))
		}
	}
	return strings.ToValidUTF8(text, string(utf8.RuneError))
}

// leftOut replaces a secret.
const leftOut = "(left out)"

// blot removes secrets from a text.
func (s *settings) blot(text string) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, leftOut)
	}
	return text
}

// blotCut is blot for a text that was cut off. It also removes an end that may be the beginning of
// a secret whose rest was not read.
func (s *settings) blotCut(text string) string {
	begun := 0
	for _, secret := range s.secrets {
		for n := min(len(secret)-1, len(text)); n > begun; n-- {
			if strings.HasSuffix(text, secret[:n]) {
				begun = n
			}
		}
	}
	return s.blot(text[:len(text)-begun])
}

// blotError returns an error without secrets in its text: err itself, or a new one with its text.
func (s *settings) blotError(err error) error {
	if text := err.Error(); s.blot(text) != text {
		return errors.New(s.blot(text))
	}
	return err
}

func failed(code adk.Code, message string, cause error) *adk.Error {
	return &adk.Error{Code: code, Message: message, Cause: cause}
}

func errStream(why string, cause error) *adk.Error {
	return failed(adk.E_OPENAI_CHAT_COMPLETIONS_STREAM_ERROR, why, cause)
}
