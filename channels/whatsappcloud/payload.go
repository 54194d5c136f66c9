package whatsappcloud

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// value is what one change carries. Messages and statuses are read one by one,
// so that a strange one doesn't take the others with it.
type value struct {
	Metadata struct {
		DisplayPhoneNumber string `json:"display_phone_number"`
		PhoneNumberID      string `json:"phone_number_id"`
	} `json:"metadata"`
	Contacts []json.RawMessage `json:"contacts"`
	Messages []json.RawMessage `json:"messages"`
	Statuses []json.RawMessage `json:"statuses"`
	Errors   []json.RawMessage `json:"errors"`
}

type wireContact struct {
	WAID    string `json:"wa_id"`
	UserID  string `json:"user_id"`
	Profile struct {
		Name     string `json:"name"`
		Username string `json:"username"`
	} `json:"profile"`
}

type wireMessage struct {
	ID         string `json:"id"`
	From       string `json:"from"`
	FromUserID string `json:"from_user_id"`
	GroupID    string `json:"group_id"`
	Timestamp  stamp  `json:"timestamp"`
	Type       string `json:"type"`
	Context    struct {
		ID   string `json:"id"`
		From string `json:"from"`
	} `json:"context"`
	Text struct {
		Body string `json:"body"`
	} `json:"text"`
	Interactive struct {
		Type        string    `json:"type"`
		ButtonReply wireReply `json:"button_reply"`
		ListReply   wireReply `json:"list_reply"`
	} `json:"interactive"`
	Button struct {
		Payload string `json:"payload"`
		Text    string `json:"text"`
	} `json:"button"`
	Image    wireMedia `json:"image"`
	Audio    wireMedia `json:"audio"`
	Video    wireMedia `json:"video"`
	Document wireMedia `json:"document"`
	Sticker  wireMedia `json:"sticker"`
	Location struct {
		Latitude  json.Number `json:"latitude"`
		Longitude json.Number `json:"longitude"`
		Name      string      `json:"name"`
		Address   string      `json:"address"`
	} `json:"location"`
	Contacts []struct {
		Name struct {
			FormattedName string `json:"formatted_name"`
		} `json:"name"`
	} `json:"contacts"`
	Edit struct {
		OriginalMessageID string          `json:"original_message_id"`
		Message           json.RawMessage `json:"message"`
	} `json:"edit"`
}

type wireReply struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

type wireMedia struct {
	ID       string `json:"id"`
	MIMEType string `json:"mime_type"`
	Caption  string `json:"caption"`
	Filename string `json:"filename"`
}

type wireStatus struct {
	ID              string            `json:"id"`
	Status          string            `json:"status"`
	Timestamp       stamp             `json:"timestamp"`
	RecipientID     string            `json:"recipient_id"`
	RecipientUserID string            `json:"recipient_user_id"`
	Callback        string            `json:"biz_opaque_callback_data"`
	Errors          []json.RawMessage `json:"errors"`
}

// stamp is a time in Unix seconds, as a text or as a number. What is neither is
// the zero time: no message is lost for its date.
type stamp struct{ time.Time }

// UnmarshalJSON reads it.
func (s *stamp) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseInt(string(bytes.Trim(b, `"`)), 10, 64)
	if err == nil && n > 0 && n < 1<<40 {
		s.Time = time.Unix(n, 0).UTC()
	}
	return nil
}

// parse opens a batch: entries of changes. Fields that aren't known are let
// pass, and so are kinds of change other than messages. strange counts changes
// that can't be read.
func parse(body []byte) (values []value, strange int, err error) {
	var batch struct {
		Object string `json:"object"`
		Entry  []struct {
			Changes []struct {
				Field string          `json:"field"`
				Value json.RawMessage `json:"value"`
			} `json:"changes"`
		} `json:"entry"`
	}
	if err := json.Unmarshal(body, &batch); err != nil {
		return nil, 0, fmt.Errorf("reading batch: %w", err)
	}
	if batch.Object != "whatsapp_business_account" {
		return nil, 0, nil
	}
	for _, e := range batch.Entry {
		for _, c := range e.Changes {
			var v value
			if c.Field != "messages" || len(c.Value) == 0 {
				continue
			}
			if err := json.Unmarshal(c.Value, &v); err != nil {
				strange++
				continue
			}
			values = append(values, v)
		}
	}
	return values, strange, nil
}
