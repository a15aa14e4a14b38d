"""Functions handed over to C: which derivatives, at which arguments, and the files beside the code;
here enters what a user may ask of an export, while the code and the header are made below.
"""
