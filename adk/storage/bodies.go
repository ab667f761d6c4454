package storage

import (
	"fmt"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/artifact"
)

// LastingRows are Rows that give back each row as the very value that was written, as memory
// does. The bodies of artifacts then last as long as their rows, without a spool (SPL-10).
type LastingRows interface {
	Rows
	// RowsLast does nothing: it says that rows are not taken apart.
	RowsLast()
}

// bodies are the readers of the artifacts of a row that no spool has, by the hashes of what
// they read.
type bodies map[string]adk.MediaReader

// bodiesOf are the bodies that are gone once only the JSON of a record is kept, and the first
// artifact that has one.
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

// mediaOf are the media that a record holds.
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

// errUnkept is why a record is refused: its JSON would be kept, and the body of its artifact
// would be gone (SPL-9).
func errUnkept(record adk.Record, media *adk.Media) error {
	options := "artifact.SpoolingOptions{}"
	if record.RecordKind() == adk.RecordMessage {
		options = "artifact.SpoolingOptions{Messages: true}"
	}
	return &adk.Error{Code: adk.E_NOT_A_SPOOL_READER, Message: fmt.Sprintf("nobody keeps the body of artifact %.80q: "+
		"put artifact.Spooling(storage, spool, %s) around the storage, under a session host in Config.Wrap", media.ID(), options)}
}

// reader is that of a media in a row: from the spool, or one that lasts with the row.
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
