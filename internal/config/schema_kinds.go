package config

import (
	"maps"
	"reflect"

	"go.yaml.in/yaml/v4"
)

// The types with a YAML form of their own say here what that form is.

func (Section) schema(schemer, string) object { return object{"type": []any{"object", "null"}} }

func (Code) schema(schemer, string) object { return text() }

func (s *Size) schema(schemer, string) object {
	return matching(`^[0-9]+(\.[0-9]+)? ?([kKMGT]i?)?[bB]?$`)
}

func (r *Rate) schema(schemer, string) object {
	return matching(`^(off|0|[1-9][0-9]*/([0-9.]+)?(ns|us|µs|ms|s|m|h).*)$`)
}

func (s *SystemNote) schema(schemer, string) object { return text() }

func (a *AnswerBy) schema(schemer, string) object {
	return object{"anyOf": []any{words([]string{string(Requester), string(Anyone)}), object{"type": "array", "items": text(), "minItems": 1}}}
}

func (w *Dedupe) schema(s schemer, path string) object {
	win := s.object(reflect.ValueOf(struct {
		Window string `yaml:"window" config:"required"`
	}{}), path)
	props(win)["window"] = matching(`^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`)
	return object{"anyOf": []any{words([]string{"args"}), object{"const": false}, win}}
}

// schema of texts lets keys be nested or dotted.
func (t *Texts) schema(schemer, string) object {
	lang := object{"type": []any{"object", "null"}, "additionalProperties": object{"$ref": "#/$defs/texts"}}
	return object{"type": []any{"object", "null"}, "additionalProperties": lang}
}

func (m *MCPServers) schema(s schemer, path string) object {
	server := s.object(reflect.ValueOf(MCPServer{StartTimeout: mcpStartTimeout}), path+".NAME")
	server["oneOf"] = []any{
		object{"required": []any{"command"}}, object{"required": []any{"url"}}, object{"required": []any{"url_file"}},
	}
	return object{
		"type": []any{"object", "null"}, "propertyNames": object{"pattern": "^[a-zA-Z0-9][a-zA-Z0-9_-]{0,31}$"}, "additionalProperties": server,
	}
}

func (a *MCPAllow) schema(s schemer, path string) object {
	tools := object{"type": "object", "additionalProperties": s.object(reflect.ValueOf(MCPTool{Confirm: true}), path+".NAME")}
	return object{"anyOf": []any{object{"type": "array", "items": object{"type": "string", "minLength": 1}, "uniqueItems": true}, tools, object{"type": "null"}}}
}

func (t *Tools) schema(s schemer, path string) object {
	tool := s.object(reflect.ValueOf(Tool{}), path+".NAME")
	tool["not"] = object{"required": []any{"confirm", "confirm_when"}}
	list := object{"type": []any{"array", "null"}, "items": text()}
	return object{
		"type":                 []any{"object", "null"},
		"properties":           object{"scripts": s.described(object{"anyOf": []any{list, object{"$ref": "#/$defs/tool"}}}, path+".scripts")},
		"propertyNames":        object{"pattern": "^[a-zA-Z0-9_-]{1,64}$"},
		"additionalProperties": object{"$ref": "#/$defs/tool"},
		toolDef:                tool, // moved to $defs
	}
}

const toolDef = "x-tool"

func (c *Channels) schema(s schemer, _ string) object {
	named := object{}
	for _, kind := range orElse(s.opts.ChannelKinds, knownChannels()) {
		// The kind may be left out where the name is the kind.
		named[kind] = object{
			"if":   object{"type": "object", "required": []any{"kind"}},
			"then": object{"$ref": "#/$defs/channel"}, "else": object{"$ref": "#/$defs/channel." + kind},
		}
	}
	return object{
		"type": []any{"object", "null"}, "properties": named,
		"propertyNames":        object{"pattern": "^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$"},
		"additionalProperties": object{"$ref": "#/$defs/channel"},
	}
}

// channelDefs adds what the sections refer to: a channel of any kind, one of
// each, a tool, and texts.
func (s schemer) channelDefs(root object) {
	kinds := orElse(s.opts.ChannelKinds, knownChannels())
	defs, cases := object{}, []any{}
	kind := words(kinds)
	notNull(kind)
	kind = s.described(kind, "channels.NAME.kind")
	for _, k := range kinds {
		own := s.object(s.adapter(k), "channels."+k)
		common := s.object(reflect.ValueOf(commonDefaults()), "channels.NAME")
		props(common)["kind"] = kind
		maps.Copy(props(common), props(own))
		for _, key := range []string{"required", "allOf", "type"} {
			if v, ok := own[key]; ok {
				common[key] = v
			}
		}
		if s.opts.Channel == nil {
			delete(common, "additionalProperties") // nobody knows the adapter's
		}
		defs["channel."+k] = common
		cases = append(cases, object{
			"if":   object{"properties": object{"kind": object{"const": k}}},
			"then": object{"$ref": "#/$defs/channel." + k},
		})
	}
	defs["channel"] = object{"type": "object", "properties": object{"kind": kind}, "required": []any{"kind"}, "allOf": cases}
	defs["texts"] = object{"type": []any{"object", "string", "number", "boolean", "null"}, "additionalProperties": object{"$ref": "#/$defs/texts"}}
	if tools, ok := props(root)["tools"].(object); ok {
		defs["tool"] = tools[toolDef]
		delete(tools, toolDef)
	}
	root["$defs"] = defs
}

// adapter is the struct that a kind's section is decoded into, with its
// defaults.
func (s schemer) adapter(kind string) reflect.Value {
	seen := reflect.ValueOf(struct{}{})
	if s.opts.Channel == nil {
		return seen
	}
	ch := Channel{Name: kind, Kind: kind, Section: Section{
		path: "channels." + kind, seen: &seen,
		node: &node{kind: yaml.MappingNode}, common: keysOf(rulesOf(reflect.TypeFor[channelCommon]())),
	}}
	_ = s.opts.Channel(&Config{}, ch) // what is missing is no matter here
	return seen
}

func (*Body) schema(schemer, string) object { return object{} }

func (*Statuses) schema(schemer, string) object {
	result := object{
		"type": "object", "properties": object{"result": object{}}, "required": []any{"result"}, "additionalProperties": false,
	}
	of := object{"anyOf": []any{object{"type": []any{"string", "number", "boolean"}}, result}}
	return object{"type": []any{"object", "null"}, "propertyNames": object{"pattern": "^[1-5]([0-9][0-9]|xx)$"}, "additionalProperties": of}
}
