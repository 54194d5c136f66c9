package twilio

import (
	"encoding/base64"
	"net/url"
)

// Sign is sign as Twilio writes it into a header.
func Sign(token, address string, form url.Values) string {
	return base64.StdEncoding.EncodeToString(sign(token, address, form))
}
