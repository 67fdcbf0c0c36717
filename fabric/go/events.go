package fabric

/*
#include <martlet_fabric.h>
*/
import "C"

import "sync"

// events hears what became ready, in one goroutine, and tells those who wait.
type events struct {
	events *C.martlet_events

	mutex   sync.Mutex
	last    C.uint64_t
	waiting map[C.uint64_t]chan struct{}
	over    bool
}

func newEvents() (*events, error) {
	e := &events{waiting: map[C.uint64_t]chan struct{}{}}
	if err := call(func() C.int { return C.martlet_events_new(&e.events) }); err != nil {
		return nil, err
	}
	go e.run()
	return e, nil
}

// register gives a number that nobody else has, and a channel that is filled when it was heard.
func (e *events) register() (C.uint64_t, chan struct{}) {
	ready := make(chan struct{}, 1)
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.last++
	e.waiting[e.last] = ready
	return e.last, ready
}

func (e *events) forget(token C.uint64_t) {
	e.mutex.Lock()
	delete(e.waiting, token)
	e.mutex.Unlock()
}

// end lets the goroutine end, which frees what lies in C. Nobody may register any more.
func (e *events) end() {
	e.mutex.Lock()
	e.over = true
	e.mutex.Unlock()
	C.martlet_events_interrupt(e.events)
}

func (e *events) run() {
	var tokens [64]C.uint64_t
	for {
		got := C.martlet_events_wait(e.events, &tokens[0], C.size_t(len(tokens)), -1)
		e.mutex.Lock()
		for _, token := range tokens[:max(0, int(got))] {
			if ready, ok := e.waiting[token]; ok {
				select {
				case ready <- struct{}{}:
				default:
				}
			}
		}
		over := e.over
		e.mutex.Unlock()
		if over {
			C.martlet_events_free(e.events)
			return
		}
	}
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}
