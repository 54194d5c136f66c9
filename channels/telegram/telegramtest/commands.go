package telegramtest

import (
	"encoding/json"
	"regexp"
	"unicode/utf8"
)

func (s *Server) setCommands(p map[string]any) (any, *apiError) {
	list, ok := p["commands"].([]any)
	if !ok || len(list) > 100 {
		return nil, bad("can't parse commands")
	}
	name := regexp.MustCompile(`^[a-z0-9_]{1,32}$`)
	for _, item := range list {
		c, err := fields(item, "command", "command!", "description!")
		if err != nil {
			return nil, bad("%v", err)
		}
		command, _ := c["command"].(string)
		text, _ := c["description"].(string)
		if n := utf8.RuneCountInString(text); !name.MatchString(command) || n < 1 || n > 256 {
			return nil, bad("BOT_COMMAND_INVALID")
		}
	}
	lang, _ := p["language_code"].(string)
	if lang != "" && len(lang) != 2 {
		return nil, bad("invalid language code specified")
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, bad("%v", err)
	}
	s.commands[lang] = text
	return true, nil
}
