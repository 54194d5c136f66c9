package channeltest

import "github.com/parley-bot/parley/channels"

// Foreign is an answer that isn't the API's own.
type Foreign struct {
	Status int
	Body   string
	// Want is the class of a send or an edit that gets it.
	Want channels.SendClass
}

// Foreigners are answers of what may stand between an adapter and its platform:
// proxies, firewalls, portals. None of them says anything of the account, the
// chat or the message.
func Foreigners() []Foreign {
	var out []Foreign
	for _, body := range []string{
		"",
		"<html><body>Denied</body></html>",
		"null",
		`"Unauthorized"`,
		`[]`,
		`{}`,
		`{"message":"Unauthorized"}`, // API gateways
		`{"message":"No API key found in request"}`,                    // another
		`{"error":"unauthorized","error_description":"x"}`,             // OAuth
		`{"error":{"code":401,"message":"no","status":"DENIED"}}`,      // a cloud's
		`{"code":403,"message":"Forbidden"}`,                           // many
		`{"status":404,"error":"Not Found","path":"/","title":"x"}`,    // frameworks
		`{"type":"about:blank","title":"Forbidden","status":403}`,      // RFC 9457
		`{"ok":false,"error":"not found","result":{"message_id":"x"}}`, // none at all
	} {
		for status, want := range map[int]channels.SendClass{
			302: channels.Temporary, 400: channels.Temporary, 401: channels.Temporary, 403: channels.Temporary,
			404: channels.Temporary, 405: channels.Temporary, 407: channels.Temporary, 409: channels.Temporary, 451: channels.Temporary,
			413: channels.PermanentMessage, 429: channels.RateLimited,
			501: channels.Temporary, 503: channels.Temporary, 511: channels.Temporary, 521: channels.Temporary,
			// These may have handed it on.
			500: channels.Unknown, 502: channels.Unknown, 504: channels.Unknown, 520: channels.Unknown, 524: channels.Unknown,
		} {
			out = append(out, Foreign{status, body, want})
		}
	}
	return out
}
