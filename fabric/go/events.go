package fabric

/*
#include <martlet_fabric.h>
*/
import "C"

import "sync"

// events dispatches the events of the C library: one goroutine waits for all tokens.
type events struct {
	events *C.martlet_events

	mutex   sync.Mutex
	last    C.uint64_t
	waiting map[C.uint64_t]chan struct{}
	closed  bool
}

func newEvents() (*events, error) {
	e := &events{waiting: map[C.uint64_t]chan struct{}{}}
	if err := call(func() C.int { return C.martlet_events_new(&e.events) }); err != nil {
		return nil, err
	}
	go e.run()
	return e, nil
}

// register allocates a token, and a channel that receives when the token becomes an event.
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

// end stops the goroutine, which then frees the queue. register must not be called afterwards.
func (e *events) end() {
	e.mutex.Lock()
	e.closed = true
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
		closed := e.closed
		e.mutex.Unlock()
		if closed {
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
