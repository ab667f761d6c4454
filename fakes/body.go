package fakes

import (
	"encoding/json"
	"unicode/utf8"
)

// requestMembers and replyMembers are the JSON members of a request and of a reply. A body that is
// not valid UTF-8 is written to the member base64 instead of body, so that no byte is lost.
type (
	requestMembers ProviderRequest
	replyMembers   Reply
)

// MarshalJSON writes the request as it appears in the file of a conversation.
func (r ProviderRequest) MarshalJSON() ([]byte, error) {
	form := struct {
		requestMembers
		Base64 []byte `json:"base64,omitempty"`
	}{requestMembers: requestMembers(r)}
	form.Body, form.Base64 = textOrBytes(r.Body)
	return json.Marshal(form)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *ProviderRequest) UnmarshalJSON(data []byte) error {
	form := struct {
		*requestMembers
		Base64 []byte `json:"base64"`
	}{requestMembers: (*requestMembers)(r)}
	err := json.Unmarshal(data, &form)
	r.Body += string(form.Base64)
	return err
}

// MarshalJSON writes the reply as it appears in the file of a conversation.
func (r Reply) MarshalJSON() ([]byte, error) {
	form := struct {
		replyMembers
		Base64 []byte `json:"base64,omitempty"`
	}{replyMembers: replyMembers(r)}
	form.Body, form.Base64 = textOrBytes(r.Body)
	return json.Marshal(form)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Reply) UnmarshalJSON(data []byte) error {
	form := struct {
		*replyMembers
		Base64 []byte `json:"base64"`
	}{replyMembers: (*replyMembers)(r)}
	err := json.Unmarshal(data, &form)
	r.Body += string(form.Base64)
	return err
}

// textOrBytes returns the body as a text if it is valid UTF-8, and as bytes otherwise.
func textOrBytes(body string) (string, []byte) {
	if utf8.ValidString(body) {
		return body, nil
	}
	return "", []byte(body)
}
