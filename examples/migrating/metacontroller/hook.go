// The quota controller as a hook of metacontroller's: it gives each namespace the resource quota that its label asks
// for.
package main

import (
	"encoding/json"
	"log"
	"net/http"
)

const label = "example.com/size"

// How many pods a namespace of each size may have.
var sizes = map[string]string{"small": "10", "large": "100"}

type request struct {
	Object struct {
		Metadata struct {
			Name   string            `json:"name"`
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	} `json:"object"`
}

type object = map[string]any

type response struct {
	Attachments []object `json:"attachments"`
}

func sync(r *request) *response {
	ns := &r.Object.Metadata
	pods, wanted := sizes[ns.Labels[label]]
	if !wanted {
		return &response{Attachments: []object{}} // what isn't mentioned is deleted
	}
	return &response{Attachments: []object{{
		"apiVersion": "v1",
		"kind":       "ResourceQuota",
		"metadata":   object{"namespace": ns.Name, "name": "size"},
		"spec":       object{"hard": object{"pods": pods}},
	}}}
}

func handleHook(w http.ResponseWriter, r *http.Request) {
	var in request
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(sync(&in))
}

func main() {
	http.HandleFunc("POST /sync", handleHook)
	log.Fatal(http.ListenAndServe(":80", nil))
}
