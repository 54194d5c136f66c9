package telegram

import "github.com/parley-bot/parley/channels"

// files are the parts of a message that aren't text.
type files struct {
	Photo     []file `json:"photo"` // one picture in several sizes, the largest last
	Document  *file  `json:"document"`
	Animation *file  `json:"animation"`
	Audio     *file  `json:"audio"`
	Voice     *file  `json:"voice"`
	Video     *file  `json:"video"`
	VideoNote *file  `json:"video_note"`
	Sticker   *file  `json:"sticker"`

	Location present `json:"location"`
	Venue    present `json:"venue"`
	Contact  present `json:"contact"`

	// What people send that is neither text nor a file.
	Poll      present `json:"poll"`
	Dice      present `json:"dice"`
	Story     present `json:"story"`
	Game      present `json:"game"`
	PaidMedia present `json:"paid_media"`
	Checklist present `json:"checklist"`
	Invoice   present `json:"invoice"`
}

type file struct {
	ID   string `json:"file_id"`
	MIME string `json:"mime_type"`
	Name string `json:"file_name"`
	Size int64  `json:"file_size"`
}

func (f *file) media(kind, mime string) channels.Media {
	if f.MIME != "" {
		mime = f.MIME
	}
	return channels.Media{Type: kind, MIME: mime, Name: f.Name, Size: max(f.Size, 0), Ref: f.ID}
}

// present tells that a field is there, whatever it holds.
type present bool

// UnmarshalJSON reads nothing of it.
func (p *present) UnmarshalJSON(b []byte) error {
	*p = string(b) != "null"
	return nil
}

// media is what came with the message: one thing at the most. Some kinds come
// twice, as themselves and as an older kind, which is left out.
func (f *files) media() []channels.Media {
	one := func(m channels.Media) []channels.Media { return []channels.Media{m} }
	switch {
	case len(f.Photo) > 0:
		return one(f.Photo[len(f.Photo)-1].media("image", "image/jpeg"))
	case f.Animation != nil: // also a document
		return one(f.Animation.media("video", "video/mp4"))
	case f.Document != nil:
		return one(f.Document.media("document", ""))
	case f.Voice != nil:
		return one(f.Voice.media("audio", "audio/ogg"))
	case f.Audio != nil:
		return one(f.Audio.media("audio", ""))
	case f.Video != nil:
		return one(f.Video.media("video", "video/mp4"))
	case f.VideoNote != nil:
		return one(f.VideoNote.media("video", "video/mp4"))
	case f.Sticker != nil:
		return one(f.Sticker.media("sticker", ""))
	case bool(f.Location), bool(f.Venue):
		return one(channels.Media{Type: "location"})
	case bool(f.Contact):
		return one(channels.Media{Type: "contact"})
	}
	if f.Poll || f.Dice || f.Story || f.Game || f.PaidMedia || f.Checklist || f.Invoice {
		return one(channels.Media{Type: "other"})
	}
	return nil
}
