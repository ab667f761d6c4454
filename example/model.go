package agent

import (
	"time"

	"github.com/adkreplay/adkreplay/adk/chat"
)

// Model returns the options for a model that is asked by the Chat Completions protocol: url is its
// address up to the version, for example https://api.openai.com/v1, key the secret with which it is
// asked, which no trace contains, and name the name of the model.
//
// The executor that is made from the options streams what the model says, runs the tools that it
// calls, and asks again if the model is busy. All its requests and their answers are recorded in
// the trace, and a replay takes the answers from there.
func Model(url, key, name string) chat.Options {
	return chat.Options{
		BaseURL: url, APIKey: key, Model: name,
		Temperature:       new(0.2),
		Retry:             chat.Retry{MaxAttempts: new(3)},
		RequestTimeout:    new(time.Minute),
		StreamIdleTimeout: new(time.Minute),
	}
}
