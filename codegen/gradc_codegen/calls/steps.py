"""The steps of a call: what the walk of a plan does, one after the other, and their operands.

A plan is a list of words of 64 bits: a head, then steps. Each step is its number and its operands.
Values go by *registers*; the first registers are the arguments of the call, positional ones and
then those given by name. Inputs and outputs of the kernel go by *slots*. A step that finds another
thing than it expects ends the plan: the next one is tried.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

# The walk, and that for objects which are called; and what the code refers to by names, since its
# text is that of every process.
NAME, OF_OBJECTS = "gradc.walk", "gradc.walk.object"
FUNCTION, CALL = "gradc.walk.class_of_functions", "gradc.walk.call"

# What makes methods and their members, and calls them, and what that refers to.
GET_METHOD, GET_MEMBER, BOUND = "gradc.walk.get_method", "gradc.walk.get_member", "gradc.walk.bound"
CLASS_OF_METHODS, CLASS_OF_MEMBERS = "gradc.walk.class_of_methods", "gradc.walk.class_of_members"
CELLS = "gradc.walk.cells"

# A call that needs more of any of these has no plan.
MOST_REGISTERS = 64
MOST_SLOTS = 64
MOST_HELD = 64

# The memory of results of so many bytes is kept when they are gone: :mod:`result_memory`.
LARGE_RESULT = 1 << 18


class Head(IntEnum):
    """The words before a plan's steps; the names of keyword arguments follow."""

    NEXT = 0  # the address of the plan that is tried after it, 0 for none
    RUNNING = 1  # how many calls are in it
    VERSION = 2  # of what is in force in the process, as the plan was made for
    POSITIONAL = 3  # how many arguments there are
    NAMED = 4
    NAMES = 5


class Step(IntEnum):
    """What a step does; the comment tells its operands."""

    # conditions
    SAME = 0  # register, object: the register is this very object
    KIND = 1  # register, class: it is of this very class
    ENTRY_IS = 2  # dict, key, object: the entry of a dict that outlives the plan
    CODE_IS = 3  # function, code
    ATTRIBUTE_IS = 4  # object, name, object
    MEMBER_IS = 5  # class, name, object: as a class and those it is made from have it
    VARIABLE_IS = 6  # context variable, object
    IS_TRUE = 7  # callable: returns True
    EQUAL = 27  # register, object: it is of this object's very class, and equals it
    ALIKE = 28  # register, register: both are one object
    UNLIKE = 29  # register, register: they are two objects
    SAME_ELEMENTS = 38  # register, address of the elements, dtype, rank, bytes, sizes…
    # parts of nests
    DICT_ITEMS = 8  # register, count, then keys as they were written, each with the part's register
    LENGTH_OF_LIST = 9  # register, length
    LENGTH_OF_TUPLE = 10  # register, length; of any class of tuples
    LIST_ITEM = 11  # register, position, register of the part
    TUPLE_ITEM = 12  # register, position, register of the part
    ATTRIBUTE = 13  # register, name, register of the part
    # what is read from outside
    READ_ENTRY = 14  # dict, key, register
    READ_ATTRIBUTE = 15  # object, name, register
    READ = 16  # callable, register of what it returns
    OBJECT = 30  # register, object: one that is known
    STATE = 31  # position in what tells whose the callable is, register
    # inputs
    ARRAY = 17  # register, slot, dtype, rank, sizes…
    NUMBER = 18  # register, slot, accepted forms, class of NumPy's scalars, dtype, bytes
    ADDRESS = 32  # slot, address: of a number that is known
    # arrays that are given for outputs
    TARGET = 33  # register, slot, dtype, rank, bytes; number and bytes of inputs, bytes of outputs,
    # sizes…
    # the call and its results
    # kernel, sizes, whether to let threads run, bytes of scratch, whether targets are given back by
    # GIVE, how many outputs, whether they are looked at afterwards, outputs; see Output
    CALL = 19
    ZERO = 34  # slot of an output, how many there are: go on if it is 0
    PUSH = 20  # slot of an output
    DROP = 37  # slot of an output, which is no result
    NONE = 21
    TUPLE = 22  # how many of the last results it takes
    LIST = 23
    DICT = 24  # how many, the keys
    APPLY = 25  # callable: takes the last result
    GIVE = 35  # register
    DOOR = 36  # definition, function, tuple, how many of the last results: a callable of C, whose
    # state is the tuple and these
    RETURN = 26


class Form(IntFlag):
    """In which forms a number may be given."""

    FLOAT = 1
    SCALAR = 2  # of NumPy
    ARRAY = 4  # without axes
    INT = 8  # within the range of int32


class Output(IntEnum):
    """What an output is to Python: six words, the kind and five operands."""

    SCALAR = 0  # its class
    # number of the dtype, rank, address of the sizes; 1 + the register of a target, or 0, its bytes
    ARRAY = 1
    BOOL = 2
    HIDDEN = 3  # a number that is no result


class Cell(IntEnum):
    """The words that all plans of the process share."""

    TRACING = 0  # how many functions are being traced: then nothing is called
    VERSION = 1  # changes when something is in force that was not
    SCRATCH = 2  # the address of the scratch that calls share
    SCRATCH_BYTES = 3
    SCRATCH_TAKEN = 4  # its address while a call has it
    MEMORY = 5  # NumPy's handler that keeps the memory of large results, or 0
    USUAL_MEMORY = 6  # the handler that is in force unless somebody has set one
