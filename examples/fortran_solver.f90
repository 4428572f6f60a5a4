! SPDX-License-Identifier: BSD-3-Clause
!
! A solver that keeps its temperature every 50 steps, each within 0.001 degrees, and reads the last one back:
!
!     gfortran fortran_solver.f90 $(pkg-config --cflags --libs csz-fortran) -o solver && ./solver
program fortran_solver
    use csz
    implicit none
    integer, parameter :: n = 128, nsteps = 200
    real(real32) :: t(n, n, n), next(n, n, n)
    integer(int8), allocatable :: archive(:)
    character(32) :: name
    integer :: step, status

    t = 20
    t(n/4:n/2, n/4:n/2, n/4:n/2) = 80
    do step = 1, nsteps
        next = t
        next(2:n - 1, 2:n - 1, 2:n - 1) = t(2:n - 1, 2:n - 1, 2:n - 1) + 0.1*( &
            t(1:n - 2, 2:n - 1, 2:n - 1) + t(3:n, 2:n - 1, 2:n - 1) + &
            t(2:n - 1, 1:n - 2, 2:n - 1) + t(2:n - 1, 3:n, 2:n - 1) + &
            t(2:n - 1, 2:n - 1, 1:n - 2) + t(2:n - 1, 2:n - 1, 3:n) - 6*t(2:n - 1, 2:n - 1, 2:n - 1))
        t = next
        if (mod(step, 50) /= 0) cycle
        call csz_compress(archive, t, status, abs=1e-3_real64, predictor=csz_auto)
        if (status == csz_ok) then
            write (name, '("t", i4.4, ".csz")') step
            call csz_write_file(name, archive, status)
        end if
        if (status /= csz_ok) then
            print '(2a)', 'not kept: ', csz_message(status)
            error stop 1
        end if
        print '("step", i4, ": ", i0, " bytes become ", i0, ", ratio ", f0.1)', step, 4_int64*size(t), &
            size(archive), 4.*size(t)/size(archive)
    end do

    call csz_read_file('t0200.csz', archive, status)
    if (status == csz_ok) call csz_decompress(next, archive, status)
    if (status /= csz_ok) then
        print '(2a)', 'not read: ', csz_message(status)
        error stop 1
    end if
    print '("largest error ", es8.2)', maxval(abs(real(t, real64) - next))
end program
