package storage

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

// LastingRows are Rows that return each row as the very value that was written, as memory does.
// Bodies of artifacts then last as long as their rows, without a spool (SPL-10).
type LastingRows interface {
	Rows
	// RowsLast does nothing. It marks rows that are returned as they were written.
	RowsLast()
}

// bodies has the readers of the artifacts of a row whose bodies are in no spool, by the hash of the
// body.
type bodies map[string]adk.MediaReader

// bodiesOf returns the bodies that would be lost if only the JSON of a record were kept, and the
// first artifact with such a body.
func bodiesOf(record adk.Record) (own bodies, first *adk.Media) {
	for _, media := range mediaOf(record) {
		mark, marked := artifact.Of(media)
		reader := media.Init().Reader
		if none := media.WithReader(nil).Init().Reader; !marked || mark.Key != "" || reader == none {
			continue
		}
		if own == nil {
			own, first = bodies{}, media
		}
		own[mark.SHA256] = reader
	}
	return own, first
}

// mediaOf returns the media of a record.
func mediaOf(record adk.Record) []*adk.Media {
	switch r := record.(type) {
	case *adk.Message:
		return r.Attachments()
	case *adk.ToolCall:
		switch results := r.Results().(type) {
		case *adk.Media:
			return []*adk.Media{results}
		case adk.MediaList:
			return results
		}
	}
	return nil
}

// errUnkept returns the error that refuses a record because its JSON would be kept but the body of
// its artifact would be lost (SPL-9).
func errUnkept(record adk.Record, media *adk.Media) error {
	options := "artifact.SpoolingOptions{}"
	if record.RecordKind() == adk.RecordMessage {
		options = "artifact.SpoolingOptions{Messages: true}"
	}
	return &adk.Error{Code: adk.E_NOT_A_SPOOL_READER, Message: fmt.Sprintf("nobody keeps the body of artifact %.80q: "+
		"put artifact.Spooling(storage, spool, %s) around the storage, under a session host in Config.Wrap", media.ID(), options)}
}

// reader returns a function that finds the reader of a media in a row: the spool's, or one that
// lasts with the row.
func (b bodies) reader(spooled func(*adk.Media) adk.MediaReader) func(*adk.Media) adk.MediaReader {
	return func(media *adk.Media) adk.MediaReader {
		if spooled != nil {
			if reader := spooled(media); reader != nil {
				return reader
			}
		}
		if mark, marked := artifact.Of(media); marked && mark.Key == "" {
			return b[mark.SHA256]
		}
		return nil
	}
}
