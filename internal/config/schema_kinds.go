package config

import (
	"fmt"
	"reflect"

	"github.com/parley-bot/parley/internal/config/schema"
)

// The types with a YAML form of their own say here what that form is.

// Schema implements schema.Schematic.
func (Section) Schema(schema.Maker, string) schema.Object {
	return schema.Object{"type": []any{"object", "null"}}
}

// Schema implements schema.Schematic.
func (Code) Schema(schema.Maker, string) schema.Object { return schema.Text() }

// Schema implements schema.Schematic.
func (s Size) Schema(schema.Maker, string) schema.Object {
	return schema.Matching(`^[0-9]+(\.[0-9]+)? ?([kKMGT]i?)?[bB]?$`)
}

// Schema implements schema.Schematic.
func (r Rate) Schema(schema.Maker, string) schema.Object {
	return schema.Matching(`^(off|0|[1-9][0-9]*/([0-9.]+)?(ns|us|µs|ms|s|m|h).*)$`)
}

// Schema implements schema.Schematic.
func (s SystemNote) Schema(schema.Maker, string) schema.Object { return schema.Text() }

// Schema implements schema.Schematic.
func (a AnswerBy) Schema(schema.Maker, string) schema.Object {
	return schema.Object{"anyOf": []any{schema.Words([]string{string(Requester), string(Anyone)}), schema.Object{"type": "array", "items": schema.Text(), "minItems": 1}}}
}

// Schema implements schema.Schematic.
func (w Dedupe) Schema(s schema.Maker, path string) schema.Object {
	win := s.Object(reflect.ValueOf(struct {
		Window string `yaml:"window" config:"required"`
	}{}), path)
	schema.Props(win)["window"] = schema.Matching(`^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`)
	return schema.Object{"anyOf": []any{schema.Words([]string{"args"}), schema.Object{"const": false}, win}}
}

// Schema of texts lets keys be nested or dotted.
// Schema implements schema.Schematic.
func (t Texts) Schema(schema.Maker, string) schema.Object {
	lang := schema.Object{"type": []any{"object", "null"}, "additionalProperties": schema.Object{"$ref": "#/$defs/texts"}}
	return schema.Object{"type": []any{"object", "null"}, "additionalProperties": lang}
}

// Schema implements schema.Schematic.
func (m MCPServers) Schema(s schema.Maker, path string) schema.Object {
	server := s.Object(reflect.ValueOf(MCPServer{StartTimeout: mcpStartTimeout}), path+".NAME")
	server["oneOf"] = []any{
		schema.Object{"required": []any{"command"}}, schema.Object{"required": []any{"url"}}, schema.Object{"required": []any{"url_file"}},
	}
	return schema.Object{
		"type": []any{"object", "null"}, "propertyNames": schema.Object{"pattern": "^[a-zA-Z0-9][a-zA-Z0-9_-]{0,31}$"}, "additionalProperties": server,
	}
}

// Schema implements schema.Schematic.
func (a *MCPAllow) Schema(s schema.Maker, path string) schema.Object {
	tools := schema.Object{"type": "object", "additionalProperties": s.Object(reflect.ValueOf(MCPTool{Confirm: true}), path+".NAME")}
	return schema.Object{"anyOf": []any{schema.Object{"type": "array", "items": schema.Object{"type": "string", "minLength": 1}, "uniqueItems": true}, tools, schema.Object{"type": "null"}}}
}

// Schema implements schema.Schematic.
func (t *Tools) Schema(s schema.Maker, path string) schema.Object {
	tool := s.Object(reflect.ValueOf(Tool{}), path+".NAME")
	tool["not"] = schema.Object{"required": []any{"confirm", "confirm_when"}}
	list := schema.Object{"type": []any{"array", "null"}, "items": schema.Text()}
	return schema.Object{
		"type":                 []any{"object", "null"},
		"properties":           schema.Object{"scripts": s.Described(schema.Object{"anyOf": []any{list, schema.Object{"$ref": "#/$defs/tool"}}}, path+".scripts")},
		"propertyNames":        schema.Object{"pattern": "^[a-zA-Z0-9_-]{1,64}$"},
		"additionalProperties": schema.Object{"$ref": "#/$defs/tool"},
		toolDef:                tool, // moved to $defs
	}
}

const toolDef = "x-tool"

// Schema implements schema.Schematic; what it is of channels is [Schema]'s to
// say, which knows the kinds.
func (c Channels) Schema(schema.Maker, string) schema.Object { return schema.Object{} }

// Schema implements schema.Schematic.
func (Body) Schema(schema.Maker, string) schema.Object { return schema.Object{} }

// Schema implements schema.Schematic.
func (Statuses) Schema(schema.Maker, string) schema.Object {
	result := schema.Object{
		"type": "object", "properties": schema.Object{"result": schema.Object{}}, "required": []any{"result"}, "additionalProperties": false,
	}
	of := schema.Object{"anyOf": []any{schema.Object{"type": []any{"string", "number", "boolean"}}, result}}
	return schema.Object{"type": []any{"object", "null"}, "propertyNames": schema.Object{"pattern": "^[1-5]([0-9][0-9]|xx)$"}, "additionalProperties": of}
}

// Written implements schema.Defaulted.
func (r Rate) Written() any { return fmt.Sprintf("%d/%s", r.N, schema.ShortDuration(r.Per)) }

// Written implements schema.Defaulted.
func (s Size) Written() any { return s.String() }

// Written implements schema.Defaulted.
func (s SystemNote) Written() any { return s.On }

// Written implements schema.Defaulted.
func (a AnswerBy) Written() any { return string(a.Who) }
