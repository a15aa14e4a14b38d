! Calls kernels of gradc from Fortran and prints every bit of what they return. models.o comes from
! examples/models.py:
!
!     gfortran main.f90 models.o -o main
program main
    use, intrinsic :: iso_c_binding
    implicit none

    interface
        function rosen_vg_worksize(n) bind(c) result(bytes)
            import :: c_int64_t, c_size_t
            integer(c_int64_t), value :: n
            integer(c_size_t) :: bytes
        end function
        function rosen_vg(n, x, y, g_x, work) bind(c) result(status)
            import :: c_int64_t, c_double, c_int, c_int8_t
            integer(c_int64_t), value :: n
            real(c_double), intent(in) :: x(*)
            real(c_double), intent(out) :: y, g_x(*)
            integer(c_int8_t), intent(inout) :: work(*)
            integer(c_int) :: status
        end function
        function rosen_hess_worksize(n) bind(c) result(bytes)
            import :: c_int64_t, c_size_t
            integer(c_int64_t), value :: n
            integer(c_size_t) :: bytes
        end function
        function rosen_hess(n, x, h, work) bind(c) result(status)
            import :: c_int64_t, c_double, c_int, c_int8_t
            integer(c_int64_t), value :: n
            real(c_double), intent(in) :: x(*)
            real(c_double), intent(out) :: h(*)
            integer(c_int8_t), intent(inout) :: work(*)
            integer(c_int) :: status
        end function
    end interface

    integer(c_int64_t), parameter :: n = 5
    real(c_double) :: x(n), value, slope(n), hessian(n, n)
    integer(c_int8_t), allocatable :: work(:)
    integer :: i

    do i = 1, int(n)
        x(i) = real(mod(37 * (i - 1) + 5, 101), c_double) / 64 + 0.25_c_double
    end do
    allocate (work(max(rosen_vg_worksize(n), rosen_hess_worksize(n)) + 1))
    if (rosen_vg(n, x, value, slope, work) /= 0) stop 1
    ! The Hessian is symmetric, so that its rows in C are columns here.
    if (rosen_hess(n, x, hessian, work) /= 0) stop 1
    call print_bits('rosen', [value])
    call print_bits('rosen_slope', slope)
    call print_bits('rosen_hessian', reshape(hessian, [n * n]))

contains

    subroutine print_bits(name, numbers)
        character(*), intent(in) :: name
        real(c_double), intent(in) :: numbers(:)
        integer :: k
        do k = 1, size(numbers)
            print '(a, 1x, i0, 1x, z16.16)', name, k - 1, transfer(numbers(k), 0_c_int64_t)
        end do
    end subroutine
end program
