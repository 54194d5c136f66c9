package js

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

//go:embed runtime/*.js
var runtimeFiles embed.FS

// Namespaces of esbuild: what is not a file on disk.
const (
	nsRuntime = "parley"
	nsEmbed   = "embed"
)

// bundled is a script with all it imports in one text.
type bundled struct {
	code   []byte
	lines  lineMap
	inputs []string // files on disk, absolute
	own    []string // the user's files, as in lines.Files
}

// bundle reads the script and its packages. zodDir, where not "", is the
// folder from which zod's own JSON Schema converter is taken in.
func bundle(src Source, zodDir string) (*bundled, error) {
	dir, entry := "/", src.path
	if src.onDisk() {
		abs, err := filepath.Abs(src.path)
		if err != nil {
			return nil, &Error{File: src.path, Message: "can't be found: " + err.Error()}
		}
		if _, err := os.Stat(abs); err != nil {
			return nil, &Error{File: src.path, Message: reason(err)}
		}
		dir, entry = filepath.Dir(abs), abs
	} else if _, err := src.read(src.path); err != nil {
		return nil, &Error{File: src.path, Message: reason(err)}
	}

	res := api.Build(api.BuildOptions{
		EntryPoints:   []string{nsRuntime + ":entry.js"},
		Outfile:       filepath.Join(dir, "bundle.js"),
		AbsWorkingDir: dir,
		Bundle:        true,
		Format:        api.FormatIIFE,
		Platform:      api.PlatformBrowser,
		Target:        api.ES2022,
		Define:        map[string]string{"process.env.NODE_ENV": `"production"`},
		Charset:       api.CharsetUTF8,
		LegalComments: api.LegalCommentsNone,
		Sourcemap:     api.SourceMapExternal,
		// The sources stay where they are: only places are needed.
		SourcesContent: api.SourcesContentExclude,
		Metafile:       true,
		LogLevel:       api.LogLevelSilent,
		Plugins:        []api.Plugin{resolver(src, dir, entry, zodDir)},
	})
	if len(res.Errors) > 0 {
		return nil, bundleErrors(src, res.Errors)
	}
	b := &bundled{}
	var rawMap []byte
	for _, f := range res.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			rawMap = f.Contents
		} else {
			b.code = f.Contents
		}
	}
	var err error
	if b.lines, err = newLineMap(rawMap); err != nil {
		return nil, fmt.Errorf("bundle %s: %w", src.path, err)
	}
	b.own = b.lines.Files
	var meta struct {
		Inputs map[string]struct{} `json:"inputs"`
	}
	if err := json.Unmarshal([]byte(res.Metafile), &meta); err != nil {
		return nil, fmt.Errorf("bundle %s: read the list of inputs: %w", src.path, err)
	}
	for in := range meta.Inputs {
		if src.onDisk() && !strings.HasPrefix(in, nsRuntime+":") && !strings.HasPrefix(in, "(") {
			b.inputs = append(b.inputs, filepath.Join(dir, filepath.FromSlash(in)))
		}
	}
	slices.Sort(b.inputs)
	return b, nil
}

func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no such file"
	}
	return "can't be read: " + err.Error()
}

// resolver finds 'parley', the runtime's own files, the script, and files of
// an embedded source.
func resolver(src Source, dir, entry, zodDir string) api.Plugin {
	return api.Plugin{Name: "parley", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: `^parley(:.*)?$`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			switch name := strings.TrimPrefix(a.Path, "parley:"); name {
			case "parley":
				return api.OnResolveResult{Path: "parley.js", Namespace: nsRuntime}, nil
			case "user":
				if !src.onDisk() {
					return api.OnResolveResult{Path: entry, Namespace: nsEmbed}, nil
				}
				return api.OnResolveResult{Path: entry}, nil
			default:
				return api.OnResolveResult{Path: name, Namespace: nsRuntime}, nil
			}
		})
		b.OnResolve(api.OnResolveOptions{Filter: `^\./`, Namespace: nsRuntime}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: strings.TrimPrefix(a.Path, "./"), Namespace: nsRuntime}, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: nsRuntime}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			if a.Path == "zod" {
				stub := "export const toJSONSchema = undefined"
				if zodDir != "" {
					stub = "export { toJSONSchema } from 'zod/v4/core'"
				}
				return api.OnLoadResult{Contents: &stub, ResolveDir: zodDir}, nil
			}
			text, err := runtimeFiles.ReadFile("runtime/" + a.Path)
			if err != nil {
				return api.OnLoadResult{}, fmt.Errorf("there is no %q in parley", a.Path)
			}
			s := string(text)
			return api.OnLoadResult{Contents: &s, ResolveDir: dir}, nil
		})
		if !src.onDisk() {
			resolveEmbedded(src, b)
		}
	}}
}

func resolveEmbedded(src Source, b api.PluginBuild) {
	b.OnResolve(api.OnResolveOptions{Filter: `^\.`, Namespace: nsEmbed}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		base := path.Join(path.Dir(a.Importer), a.Path)
		for _, ext := range []string{"", ".ts", ".js", ".json"} {
			if _, err := src.read(base + ext); err == nil {
				return api.OnResolveResult{Path: base + ext, Namespace: nsEmbed}, nil
			}
		}
		return api.OnResolveResult{}, fmt.Errorf("there is no file %q", a.Path)
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: nsEmbed}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		text, err := src.read(a.Path)
		if err != nil {
			return api.OnLoadResult{}, err
		}
		s := string(text)
		loader := api.LoaderTS
		switch path.Ext(a.Path) {
		case ".json":
			loader = api.LoaderJSON
		case ".js", ".mjs":
			loader = api.LoaderJS
		}
		return api.OnLoadResult{Contents: &s, Loader: loader}, nil
	})
}

// zodFolder is the folder whose node_modules holds the zod that was bundled.
func zodFolder(inputs []string) string {
	for _, in := range inputs {
		slashed := filepath.ToSlash(in)
		if i := strings.LastIndex(slashed, "/node_modules/zod/"); i >= 0 {
			return filepath.FromSlash(slashed[:i+1])
		}
	}
	return ""
}
