// Package script is the model that follows a script: a YAML file of rules that
// says what to answer to what. Tests, benchmarks and the demo run on it.
//
// It owns the file's format, matching, and the record of the requests it saw.
// It keeps no state between calls: an answer depends on the request alone, so
// a turn that is resumed elsewhere goes on as it would have here. It doesn't
// own any rule: those are files of whoever wrote the bot.
//
// # Rules
//
//	rules:
//	  - when: {text: "hello|hi"}
//	    say: "Hello! What can I get you?"
//	  - when: {text: "what did i order"}
//	    call: {tool: my_orders}
//	  - when: {tool: my_orders, lacks: result.0}
//	    say: You have no orders.
//	  - when: {tool: my_orders}
//	    say: "Your last order is number {result.-1.id}."
//	  - say: I only know bread.
//
// A file that is nothing but rules may be the list alone, without the key.
// The first rule whose conditions all hold answers. Where none does, the call
// fails (bad_request), so a script for people ends with a rule without when.
//
// # Conditions
//
// What the person said last is the last message of theirs, or their reply to a
// question where that came later (a result {"executed": false, "reason":
// "user_replied", "userReply": "…"}). "This turn" begins after the last answer
// of the assistant that asked for no tool.
//
//	last      user: a message of the person comes last
//	          reply: the results of tools, one of them such a reply
//	          tool: any results of tools, replies too
//	          any: whatever. Where last is left out, it is tool beside tool,
//	          result or failed; else it is user or reply beside text, all_text
//	          or has/lacks of an extractor; else any.
//	text      REGEX in what the person said last
//	all_text  REGEX in all the person said in this turn, a line each
//	assistant REGEX in the assistant's last text, of whichever turn
//	system    REGEX in the system prompt, its parts joined by empty lines
//	tool      a result of this tool is among the last
//	result    REGEX in that result, as the model sees it
//	failed    true or false: whether that result is a failed one
//	has       a value, or a list of values, that are there and not empty
//	lacks     the same, none of which is there
//	lang      the language found by `languages`
//
// Regular expressions are RE2's; they ignore case and accents, in the pattern
// and in the text, and take typographic quotes and dashes for plain ones. Of
// several last results, the last one that fits tool, result and failed is the
// rule's result; without these it is the last one, with last: reply the reply.
//
// # Answers
//
//	say       a text, or texts by language: {en: "…", es: "…"}; a language
//	          that isn't there gets the first
//	call      {tool: NAME, args: {…}}; calls: a list of these. say may stand
//	          beside it. args may be a text instead, which is taken literally
//	          where a test needs broken arguments. Without args there are none.
//	stop      length, filter or other, alone or beside say and calls
//	error     a status from 400 to 599, or timeout, context_too_long, no_tools
//	          or filtered; with after: 2s a Retry-After
//	pace      30ms: say takes that long for each word, as a model that writes;
//	          where the answer is streamed, its words are seen one by one
//	delay     50ms: wait first. A rule that has nothing else waits, and the
//	          search goes on behind it.
//
// # Values
//
// {name} in say and in args is a value; {name?} may be missing and is then
// left out: nothing in a text, no key in an object, no element in a list. A
// missing value without ? fails the call (bad_request). A string of args that
// is one placeholder and nothing else becomes the value itself, a number, an
// object or a list; a group of digits becomes a number where the tool's schema
// has an integer or a number there. Elsewhere values are written out as text. {{ and }} are
// braces, and so is a brace that begins no placeholder.
//
//	{1} {2}           groups of text, else all_text, result, assistant, system
//	{name}            the named group (?P<name>…) of any of them
//	{user}            what the person said last
//	{result.id}       the rule's result, and what is in it: keys and indexes,
//	                  from 0, or from the end with -1
//	{last.TOOL.id}    the last result of a tool in this turn
//	{args.TOOL.id}    the arguments of the last call of a tool in this turn
//	{NAME}            an extractor, or a list; both may be followed by a path
//
// # Extractors
//
// They read values out of what the person said last (from: turn reads all they
// said in this turn), ignoring case and accents:
//
//	extract:
//	  items:                              # [{product: coffee, quantity: 2}, …]
//	    words:
//	      coffee: [coffee, coffees, café, cafés]
//	      chocolate_cake: [chocolate cake, tarta de chocolate]
//	    numbers: [en, es]
//	    key: product
//	    quantity: quantity
//	    default: 1
//	  product: {words: {coffee: [coffee, café]}}          # the first: "coffee"
//	  amount:  {numbers: [en, es]}                        # the last number: 3
//	  name:    {pattern: "my name is (\\w+)"}             # its first group
//
// With words and key it is a list of what was named, in order: each with the
// number before it ("two coffees"), or behind it ("coffee x2", "coffee: 2"),
// or default; naming one again adds up. Commas, semicolons, line breaks, +, &,
// "and", "y" and "e" part one from the next. Without quantity there is only the
// key. Numbers are digits, and the words of the languages up to 999: one, a
// couple, a dozen, twenty-five; uno, un par, media docena, treinta y cinco. An
// amount isn't taken from a, an, un and una. pattern without a group gives the
// whole match.
//
// # Lists
//
// They write the elements of a list as text:
//
//	lists:
//	  order_lines: {each: last.my_orders, line: "{n}. #{id}: {order_items}", join: "\n", empty: none}
//	  order_items: {each: items, line: "{quantity} × {product}", join: ", ", labels: {rye_bread: rye bread}}
//
// In line, a name is a field of the element first; {n} counts from 1, {it} is
// the element itself. join is a line break by default, empty is written where
// there is no element. labels replace values that are written. line and empty
// may be texts by language, like say.
//
// # Languages
//
//	languages:
//	  - {lang: es, text: "\\b(hola|quiero|pedi)\\b"}
//	  - {lang: en, text: "\\b(hello|i|the)\\b"}
//	  - {lang: es, system: "Spanish|español"}
//	  - {lang: en}
//
// The first that fits is the language of the answer; text, all_text and system
// are as above.
package script
