/* Keeps the ceph-mgr of Debian 13 (Ceph 18.2.7, Python 3.13) from crashing. LD_PRELOAD it.
 *
 * Ceph 18 attaches one thread's PyThreadState in other threads (src/mgr/Gil.cc: it swaps to the
 * state that a module's interpreter was made with, makes a new one for the thread, and swaps
 * back). Up to Python 3.11 PyThreadState_Swap left the GIL alone. Since 3.12 it gives the GIL up
 * and takes that of the other state's interpreter, so two threads come to hold one state, and
 * ceph-mgr ends by SIGSEGV in Gil::~Gil() -> PyThreadState_Swap as soon as modules use
 * send_command. Upstream's own packages have Python 3.9 and are not concerned.
 *
 * The remedy: each thread has a state of its own for each interpreter that it enters, made at the
 * first time and kept. Restoring any other thread's state restores the own one instead, and what
 * Gil does besides (new, swap, clear, delete) has no effect.
 *
 * A state is kept until the process ends: as many as there are threads times interpreters.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

typedef struct thread_state State;       /* PyThreadState */
typedef struct interpreter Interpreter;  /* PyInterpreterState */

/* The function of this name in the next library, libpython. */
#define NEXT(result, name, arguments)                          \
    static result(*next_##name) arguments;                     \
    if (next_##name == NULL) {                                 \
        next_##name = (result(*) arguments)dlsym(RTLD_NEXT, #name); \
        if (next_##name == NULL) abort();                      \
    }

enum { INTERPRETERS_MAX = 128 };  /* ceph-mgr makes one per module, some forty */

static __thread struct {
    Interpreter *interpreter;
    State *state;
} own[INTERPRETERS_MAX];
static __thread int own_count;
/* What this thread saved last: restoring just that needs no replacement. */
static __thread State *saved;

static Interpreter *interpreter_of(State *state)
{
    NEXT(Interpreter *, PyThreadState_GetInterpreter, (State *));
    return next_PyThreadState_GetInterpreter(state);
}

static State *current(void)
{
    NEXT(State *, PyThreadState_GetUnchecked, (void));
    return next_PyThreadState_GetUnchecked();
}

static State *own_state(Interpreter *interpreter)
{
    for (int i = 0; i < own_count; i++)
        if (own[i].interpreter == interpreter) return own[i].state;
    return NULL;
}

static int is_own(State *state)
{
    for (int i = 0; i < own_count; i++)
        if (own[i].state == state) return 1;
    return 0;
}

static void remember(State *state)
{
    if (state == NULL || is_own(state) || own_state(interpreter_of(state)) != NULL) return;
    if (own_count == INTERPRETERS_MAX) abort();
    own[own_count].interpreter = interpreter_of(state);
    own[own_count].state = state;
    own_count++;
}

State *PyEval_SaveThread(void)
{
    NEXT(State *, PyEval_SaveThread, (void));
    saved = next_PyEval_SaveThread();
    remember(saved);
    return saved;
}

void PyEval_RestoreThread(State *state)
{
    NEXT(void, PyEval_RestoreThread, (State *));
    NEXT(State *, PyThreadState_New, (Interpreter *));
    if (state != saved && !is_own(state)) {
        Interpreter *interpreter = interpreter_of(state);
        if (own_state(interpreter) == NULL) remember(next_PyThreadState_New(interpreter));
        state = own_state(interpreter);
    }
    next_PyEval_RestoreThread(state);
}

State *Py_NewInterpreter(void)
{
    NEXT(State *, Py_NewInterpreter, (void));
    State *state = next_Py_NewInterpreter();
    remember(state);
    return state;
}

State *PyThreadState_New(Interpreter *interpreter)
{
    NEXT(State *, PyThreadState_New, (Interpreter *));
    State *state = current();
    if (state != NULL && interpreter_of(state) == interpreter) return state;
    return next_PyThreadState_New(interpreter);
}

State *PyThreadState_Swap(State *state)
{
    (void)state;
    return current();
}

void PyThreadState_Clear(State *state) { (void)state; }

void PyThreadState_Delete(State *state) { (void)state; }
