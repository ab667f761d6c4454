package fakes

import (
	"encoding/json"
	"unicode/utf8"
)

// The members of the JSON of a request and of a reply. A body that is no UTF-8 is in the
// member base64, so that it comes back as it was.
type (
	requestMembers ProviderRequest
	replyMembers   Reply
)

// MarshalJSON is the request as the file of a conversation has it.
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

// MarshalJSON is the reply as the file of a conversation has it.
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

// textOrBytes is a body as a text, or where it is none as bytes.
func textOrBytes(body string) (string, []byte) {
	if utf8.ValidString(body) {
		return body, nil
	}
	return "", []byte(body)
}
