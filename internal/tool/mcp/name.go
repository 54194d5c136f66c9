package mcptool

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/parley-bot/parley/internal/tool"
)

const maxName = 64

// offeredNames are what models call the allowed tools, by server and remote
// name: server_tool, made to fit where it doesn't (interface: settled detail 19).
// The names depend on the configuration alone, never on what a server lists.
func offeredNames(servers []Server) map[[2]string]string {
	out, uses := map[[2]string]string{}, map[string]int{}
	for _, s := range servers {
		for _, a := range s.Allow {
			uses[s.Name+"_"+a.Name]++
		}
	}
	for _, s := range servers {
		for _, a := range s.Allow {
			plain := s.Name + "_" + a.Name
			if tool.ValidName(plain) && uses[plain] == 1 {
				out[[2]string{s.Name, a.Name}] = plain
				continue
			}
			out[[2]string{s.Name, a.Name}] = fitted(s.Name, a.Name)
		}
	}
	return out
}

// fitted is a valid name with a short digest that keeps it apart from others
// that were cut or cleaned to the same.
func fitted(server, name string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + name))
	suffix := "_" + hex.EncodeToString(sum[:4])
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && tool.ValidName(string(r)) {
			return r
		}
		return '_'
	}, server+"_"+name)
	return clean[:min(len(clean), maxName-len(suffix))] + suffix
}
